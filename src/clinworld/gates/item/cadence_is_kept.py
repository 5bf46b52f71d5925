"""The home scale is read as often as declared: on the planned days, no gap longer than allowed, no more missing than planned.

Windows of declared missing readings are left out.
"""

import numpy as np

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.gates.told_apart import tell_apart
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.premise import PlannedArtifact, Premise
from clinworld.schema.record import Series
from clinworld.world.wear import load_share

CONTROLS = ("a_scale_read_as_declared", "a_scale_forgotten_for_a_month")
SPREAD = 3  # standard errors


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the days of the home scale."""
    series = case.gold.chart.find("weight")
    if series is None or len(series.days) < 2:
        return Outcome(0, (), "no home scale is charted")
    premise = case.gold.premise
    findings = [*check_gaps(series, premise, case.knowledge), *check_share(series, premise, case.knowledge)]
    off_plan = series.days[series.days % premise.sampling_days != 0]
    if len(off_plan):
        found = f"a reading on day {int(off_plan[0])}"
        findings.append(Finding("cadence_is_kept", "weight", found, f"read every {premise.sampling_days} days from day 0"))
    return Outcome(len(series.days), tuple(findings))


def check_gaps(series: Series, premise: Premise, knowledge: Knowledge) -> list[Finding]:
    """Gaps longer than allowed that no declared stretch of missing readings explains."""
    longest = max(knowledge.parameter("cadence.max_gap_days"), premise.sampling_days)
    findings: list[Finding] = []
    gaps = np.diff(series.days)
    for i in np.flatnonzero(gaps > longest):
        first, last = int(series.days[i]), int(series.days[i + 1])
        if not any(artifact.first_day <= last and first <= artifact.last_day for artifact in left_out(premise)):
            found = f"{last - first} days without a reading"
            findings.append(Finding("cadence_is_kept", f"weight, day {first} to {last}", found, f"at most {longest:g}"))
    return findings


def check_share(series: Series, premise: Premise, knowledge: Knowledge) -> list[Finding]:
    """The share of planned days without a reading, against what the plan of use leaves out in people who keep it well or badly."""
    grid = np.arange(0, premise.course_end_day + 1, premise.sampling_days)
    for artifact in left_out(premise):
        grid = grid[(grid < artifact.first_day) | (grid > artifact.last_day)]
    if not len(grid):
        return []
    missing = 1 - float(np.isin(grid, series.days).mean())
    unused = 1 - (5 * load_share(knowledge, "weigh_in_p_weekday") + 2 * load_share(knowledge, "weigh_in_p_weekend")) / 7
    planned = float(np.clip(missing, unused.min(), unused.max())) if premise.sampling_days == 1 else 0.0
    most = knowledge.parameter("cadence.missing_tolerance") + SPREAD * float(np.sqrt(planned * (1 - planned) / len(grid)))
    if abs(missing - planned) <= most:
        return []
    away, limit = tell_apart(abs(missing - planned), most, 2)
    found = f"{missing:.2f} of the planned readings missing, {away} from the {planned:.2f} planned"
    return [Finding("cadence_is_kept", "weight", found, f"at most {limit} away")]


def left_out(premise: Premise) -> list[PlannedArtifact]:
    """The declared stretches without readings."""
    return [artifact for artifact in premise.artifacts if artifact.kind == "mnar_missing"]
