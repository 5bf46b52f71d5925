"""Verdicts: what was found, what it comes to, and what it pays. Decides the order among findings and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from clinworld.core.text import Language, load_labels

HERE = Path(__file__).parent

Outcome = Literal[
    "failed_platform", "reconciliation_required", "rejected_policy", "wrong_effect", "halted_before_effect", "verified"
]  # first wins
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
UNSCORED: tuple[Outcome, ...] = ("failed_platform", "reconciliation_required")

Rule = Literal[
    "readable_oracle",
    "quiescence",
    "whole_frame",
    "live_rows_only",
    "declared_cascades",
    "one_to_one_rows",
    "identity_by_key",
    "typed_values",
    "instants_with_offset",
    "unit_equivalence",
    "no_extra_elements",
    "modifier_elements",
    "whole_lists",
    "same_choice",
    "resolved_references",
    "clean_history",
    "explicit_decision",
    "policy_evidence_refused",
    "outcome_precedence",
]
Rules = frozenset[Rule]
ALL_RULES: Rules = frozenset(get_args(Rule))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be: a row of findings.csv with its values. `outcome` None is a remark without effect."""

    rule: Rule | Literal["report"]
    outcome: Outcome | None
    label: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def say(self, language: Language = "en") -> str:
        """The finding as a line of a diff."""
        return load_labels(HERE / "findings.csv").say(self.label, language, **self.values)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one episode comes to. `reward` is 1.0, 0.0, or None where nothing can be said and no mean may count it.

    `witnesses` are the verdicts of six naive checks; `metrics` counts what happened. Neither pays.
    """

    outcome: Outcome
    findings: tuple[Finding, ...]
    witnesses: Mapping[str, bool]
    metrics: Mapping[str, int | bool | None]

    @property
    def reward(self) -> float | None:
        """1.0 for a verified write, 0.0 for any other scored outcome, None for an unscored one."""
        if self.outcome in UNSCORED:
            return None
        return 1.0 if self.outcome == "verified" else 0.0

    def reasons(self, language: Language = "en") -> list[str]:
        """The findings as lines of a diff a person can read."""
        return [finding.say(language) for finding in self.findings]


def decide_outcome(findings: Sequence[Finding], rules: Rules) -> Outcome:
    """The gravest outcome among findings, `verified` when none has one."""
    outcomes = [finding.outcome for finding in findings if finding.outcome is not None]
    if not outcomes:
        return "verified"
    return min(outcomes, key=OUTCOMES.index) if "outcome_precedence" in rules else outcomes[-1]
