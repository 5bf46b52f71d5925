"""Readings are not missing more often after the turn than before it, unless missing readings were declared."""

import numpy as np

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.gates.told_apart import tell_apart
from clinworld.schema.finding import Finding

CONTROLS = ("a_scale_read_evenly", "a_scale_avoided_after_the_turn")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings for the home scale around the reversal."""
    premise, series = case.gold.premise, case.gold.chart.find("weight")
    if premise.reversal_day is None or series is None or any(a.kind == "mnar_missing" for a in premise.artifacts):
        return Outcome(0, (), "no reversal, no home scale, or missing readings were declared")
    step, turn, end = premise.sampling_days, premise.reversal_day, premise.course_end_day
    spans = ((0, turn), (turn, end))
    least = case.knowledge.parameter("missing.least_grid")
    if any((last - first) / step < least for first, last in spans):
        return Outcome(0, (), "too few planned readings on one side of the reversal")
    before, after = (1 - int(np.sum((series.days >= a) & (series.days < b))) / ((b - a) / step) for a, b in spans)
    limit = case.knowledge.parameter("missing.max_difference")
    if abs(after - before) > limit:
        apart, most = tell_apart(abs(after - before), limit, 2)
        found = f"missing share {before:.2f} before and {after:.2f} after, {apart} apart"
        return Outcome(1, (Finding("missingness_is_neutral", f"weight around day {turn}", found, f"apart by at most {most}"),))
    return Outcome(1)
