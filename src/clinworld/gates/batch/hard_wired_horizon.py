"""Charts end where their courses end; one fixed last day in courses of different length is a horizon wired into the generator."""

from collections.abc import Sequence

from clinworld.gates.case import Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item

CONTROLS = ("charts_that_end_with_their_courses", "charts_that_all_end_on_one_day")


def check(batch: tuple[Sequence[tuple[Item, GoldRow]], Knowledge]) -> Outcome:
    """One finding when all charts stop on the same day though their courses do not."""
    pairs, knowledge = batch
    if len(pairs) < 2:
        return Outcome(0, (), "needs at least 2 items")
    last_days = {max((int(series.days[-1]) for series in gold.chart.series if len(series.days)), default=-1) for _, gold in pairs}
    ends = {gold.premise.course_end_day for _, gold in pairs}
    most = knowledge.parameter("horizon.most_days_short")
    if len(last_days) == 1 and (len(ends) > 1 or max(ends) - max(last_days) > most):
        found = f"every chart ends on day {max(last_days)}"
        return Outcome(len(pairs), (Finding("hard_wired_horizon", "last charted days", found, f"courses end on days {sorted(ends)[:6]}"),))
    return Outcome(len(pairs))
