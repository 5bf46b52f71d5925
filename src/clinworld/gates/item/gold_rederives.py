"""Gold fixed by the premise equals gold read from the charted facts by separate code."""

from clinworld.gates.case import CaseUnderCheck, Outcome

CONTROLS = ("an_untouched_chart", "a_chart_that_implies_another_answer")


def check(case: CaseUnderCheck) -> Outcome:
    """What keeps the two derivations apart."""
    gold = case.gold
    read = case.reader.read_gold(gold.chart, gold.faults, gold.origins, gold.premise.index_day, case.knowledge)
    return Outcome(1, tuple(case.reader.agrees(gold.gold, read)))
