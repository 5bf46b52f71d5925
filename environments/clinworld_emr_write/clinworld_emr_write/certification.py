"""What a rollout carries away: the certification of one write and the metrics under the published names. None stays None.

Nothing is averaged here but by `summarize`, which leaves unscored rollouts out and counts them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from clinworld.packs.emr_write.checker.verdict import Verdict
from clinworld.packs.emr_write.tasks.single_create import score_metrics

METRICS = ("evidence_tier", "sor_new_count", "halted", "inadmissible_evidence_offered")


def certify(verdict: Verdict, language: str = "en") -> dict[str, Any]:
    """The certification as JSON values. `reward`, `new` and `halted` are None where nothing can be said.

    `offered_tier` is what the policy's own evidence called itself; evidence of a policy is never read.
    """
    is_scored = verdict.reward is not None
    metrics = verdict.metrics
    return {
        "verdict": verdict.outcome,
        "reward": verdict.reward,
        "new": metrics["new"] if is_scored else None,
        "spec": metrics["expected"],
        "halted": bool(metrics["is_halted"]) if is_scored else None,
        "offered_tier": metrics["offered_tier"],
        "offers_evidence": bool(metrics["offers_evidence"]),
        "refused_attempts": metrics["refused_attempts"],
        "witnesses": dict(verdict.witnesses),
        "reasons": verdict.reasons("zh" if language == "zh" else "en"),
    }


def read_metrics(certification: Mapping[str, Any]) -> dict[str, float]:
    """The published metrics of a rollout; those that an unscored rollout cannot have are left out."""
    scored = score_metrics(
        {
            "evidence_tier": 2,
            "new": certification["new"] or 0,
            "is_halted": bool(certification["halted"]),
            "offers_evidence": certification["offers_evidence"],
        },
        None,
    )
    known = METRICS if certification["reward"] is not None else ("inadmissible_evidence_offered",)
    return {name: value for name in known if (value := scored[name]) is not None}


def summarize(rewards: Iterable[float | None]) -> dict[str, float | int | None]:
    """The mean over scored rollouts, how many they are and how many are not; None for a mean over none."""
    listed = list(rewards)
    scored = [reward for reward in listed if reward is not None]
    return {
        "mean": sum(scored) / len(scored) if scored else None,
        "scored": len(scored),
        "unscored": len(listed) - len(scored),
    }
