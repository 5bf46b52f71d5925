"""Labels of drawn cases: how likely each choice is, and the shares of a job's mix, exact by largest remainder.

Decides which label each place has, nothing of what it means.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from clinworld.core.rng import Rng
from clinworld.core.tables import load_csv
from clinworld.schema.job import Job
from clinworld.world.job_keys import load_job_keys
from clinworld.world.job_task import MIX_AXES

_WEIGHTS = Path(__file__).resolve().parents[1] / "knowledge" / "draw_weights.csv"


@lru_cache(maxsize=1)
def load_draw_weights() -> Mapping[str, Mapping[str, float]]:
    """Kind of choice → id → weight; for devices the weight is the chance of having one."""
    weights: dict[str, dict[str, float]] = {}
    for row in load_csv(_WEIGHTS, ("kind", "id", "weight", "source", "status")):
        weights.setdefault(row["kind"], {})[row["id"]] = float(row["weight"])
    return weights


def spread_mix(job: Job, n: int, rng: Rng) -> dict[str, list[str]]:
    """Axis of the mix → a label for each of `n` places; none for an axis that the job does not mix."""
    pins = {axis: _spread_labels(axis, job, n, rng) for axis in MIX_AXES}
    if pins["outcome"]:
        pins["driver"] = _spread_drivers(job, pins["outcome"], rng)
    return pins


def _spread_labels(axis: str, job: Job, n: int, rng: Rng) -> list[str]:
    """`n` labels in the shares of the mix, in an order that tells nothing; empty when the job does not mix this axis."""
    shares = {key.partition(".")[2]: float(share) for key, share in job.mix if key.startswith(axis + ".")}
    if (axis, "balanced") in job.mix:
        labels = load_job_keys()["latent"]["outcome"].allowed if axis == "outcome" else tuple(load_draw_weights()[axis])
        shares = dict.fromkeys(labels, 1.0)
    if not shares:
        return []
    listed = [label for label, count in count_by_share(shares, n).items() for _ in range(count)]
    return [listed[i] for i in rng.at("mix", axis).order(n)]


def _spread_drivers(job: Job, outcomes: list[str], rng: Rng) -> list[str]:
    """A driver for each place: those of the mix in their shares among the places that regain, "" elsewhere; empty without drivers."""
    labels = iter(_spread_labels("driver", job, outcomes.count("regain"), rng))
    return [next(labels, "") if outcome == "regain" else "" for outcome in outcomes]


def count_by_share(shares: Mapping[str, float], n: int) -> dict[str, int]:
    """How many of `n` each label gets, by largest remainder; ties go to the label that stands first.

    >>> count_by_share({"regain": 1.0, "maintain": 1.0}, 5)
    {'regain': 3, 'maintain': 2}
    """
    total = math.fsum(shares.values())
    exact = {label: n * share / total for label, share in shares.items()}
    counts = {label: math.floor(value + 1e-9) for label, value in exact.items()}
    rest = sorted(exact, key=lambda label: counts[label] - exact[label])
    for label in rest[: n - sum(counts.values())]:
        counts[label] += 1
    return counts
