"""Every declared artifact touched at least one reading, and every event touched by none stands as it was."""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("an_artifact_with_its_reading", "an_artifact_that_touched_nothing")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the declared artifacts."""
    planned = case.gold.premise.artifacts
    charted = [fault.kind for fault in case.gold.faults if fault.days]
    findings = [
        Finding(
            "artifacts_act",
            f"{artifact.kind}, day {artifact.first_day}",
            "no reading it touched",
            "a declared artifact acts or the case is refused",
        )
        for artifact in planned
        if charted.count(artifact.kind) < sum(1 for other in planned if other.kind == artifact.kind)
    ]
    return Outcome(len(planned), tuple(findings), "no artifact declared")
