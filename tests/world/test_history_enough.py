"""Treatment before day 0 follows results: enough is left alone, one step at a time, and held conditions are on their drugs on day 0."""

import numpy as np
import pytest

from clinworld.cohort.patient import Wanted, build_patients, drawn_job
from clinworld.cohort.places import list_case_ids, name_case
from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.schema.record import Series
from clinworld.world.held import find_held
from clinworld.world.history_drugs import Line
from clinworld.world.history_enough import leave_enough

KNOWLEDGE = load_knowledge()
DIABETES = "type_2_diabetes"


def line(drug: str, *steps: tuple[int, float], last: int | None = None) -> Line:
    return Line(KNOWLEDGE.drugs[drug], DIABETES, steps, last)


def hba1c(*results: tuple[int, float]) -> Series:
    days, values = (np.array(each) for each in zip(*results, strict=True))
    return Series("hba1c", "laboratory", "%", 1, days.astype(np.int32), np.rint(values * 10).astype(np.int64))


METFORMIN, MORE = line("metformin", (-900, 500.0)), line("metformin", (-900, 500.0), (-600, 1000.0), (-300, 1500.0))


@pytest.mark.parametrize(
    ("before", "charted", "after"),
    [
        ([MORE], hba1c((-900, 7.9), (-600, 7.1), (-300, 7.0)), [MORE]),
        # A dose not raised on one visit is raised by one step on the next that asks for it.
        ([MORE], hba1c((-900, 7.9), (-600, 6.4), (-300, 7.0)), [line("metformin", (-900, 500.0), (-300, 1000.0))]),
        ([MORE], hba1c((-900, 7.9), (-650, 6.4)), [METFORMIN]),
        ([MORE], hba1c((-900, 7.9), (-650, 6.4), (-600, 6.5)), [MORE]),
        # The first drug for a condition needs no result; a further one does.
        ([METFORMIN], hba1c((-900, 6.2)), [METFORMIN]),
        ([METFORMIN, line("glimepiride", (-500, 1.0))], hba1c((-510, 6.2)), [METFORMIN]),
        ([METFORMIN, line("glimepiride", (-500, 1.0))], hba1c((-510, 6.8)), [METFORMIN, line("glimepiride", (-500, 1.0))]),
        (
            [line("metformin", (-900, 500.0), last=-700), line("glimepiride", (-500, 1.0))],
            hba1c((-510, 6.2)),
            [line("metformin", (-900, 500.0), last=-700), line("glimepiride", (-500, 1.0))],
        ),
    ],
)
def test_nothing_is_raised_or_added_where_the_latest_result_is_enough(before: list[Line], charted: Series, after: list[Line]) -> None:
    assert leave_enough(before, [charted], KNOWLEDGE) == tuple(after)
    assert leave_enough(after, [charted], KNOWLEDGE) == tuple(after)


def test_without_results_or_rows_every_line_stays() -> None:
    assert leave_enough([MORE], [], KNOWLEDGE) == (MORE,)
    other = Line(KNOWLEDGE.drugs["amlodipine"], "hypertension", ((-500, 5.0), (-400, 10.0)), None)
    assert leave_enough([other], [hba1c((-500, 5.0))], KNOWLEDGE) == (other,)


@pytest.mark.slow
def test_drawn_patients_are_treated_one_step_at_a_time_never_into_hypoglycaemia_and_hold_what_is_held() -> None:
    rng, low, held_on_drug, starts, before = Rng("enough"), 0, [], [], []
    ids = [name_case(number) for number in list_case_ids("enough", 0, 400).tolist()]
    for _, premise, record, _ in build_patients(0, ids, drawn_job("enough"), Wanted(has_daily=False), KNOWLEDGE, rng):
        history = record.history
        assert history is not None
        charted = {each.name: each for each in history.series}
        if "fasting_glucose" in charted:
            low += int((charted["fasting_glucose"].values() < 3.5).sum())
        first: dict[str, int] = {}
        for order in history.prescriptions:
            first.setdefault(order.drug, order.first_day)
        of_glucose = [day for drug, day in first.items() if DIABETES in dict(KNOWLEDGE.drugs[drug].indications)]
        starts.append(max((of_glucose.count(day) for day in of_glucose), default=0))
        lasting = {order.drug for order in history.prescriptions if order.last_day is None}
        for name in find_held(premise, KNOWLEDGE, rng):
            held_on_drug.append(any(name in dict(KNOWLEDGE.drugs[drug].indications) for drug in lasting))
        diagnosed = [event.day for event in history.events if KNOWLEDGE.conditions[DIABETES].names.en.lower() in event.text.en.lower()]
        if diagnosed and "hba1c" in charted:
            days, values = charted["hba1c"].days, charted["hba1c"].values()
            before += [value for day, value in zip(days, values, strict=True) if day < min(diagnosed)]
    assert low == 0 and np.mean(np.array(starts) >= 3) < 0.01
    assert len(held_on_drug) > 30 and np.mean(held_on_drug) > 0.85
    # Results do not pile up under the diagnostic limit.
    counts = [sum(low <= value < low + 0.3 for value in before) for low in (5.6, 5.9, 6.2)]
    assert counts[2] < counts[0] + counts[1]
