"""The item shows what was charted, neither more nor less: series, notes, orders, header and what the pack sees besides, up to the last day
shown, in chart order."""

from clinworld.core.units import print_tick
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding
from clinworld.schema.record import History, Profile, Series

CONTROLS = ("a_view_of_its_chart", "a_view_with_a_changed_value")
GATE = "view_is_the_chart"
DATED = ("prescriptions", "dispensing", "specimens", "method_changes", "findings")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over everything the view holds."""
    item, gold, premise = case.item, case.gold, case.gold.premise
    view, chart = item.record, gold.chart
    last = view.last_day
    charted_series = [series for series in chart.series if len(series.days) and int(series.days[0]) <= last]
    findings: list[Finding] = []
    compared: tuple[tuple[str, object, object], ...] = (
        ("item_id", item.item_id, gold.item_id),
        ("index_day", item.index_day, premise.index_day),
        ("window_days", item.window_days, premise.course_end_day - premise.index_day),
        ("target_event", item.target_event, premise.target_event),
        ("case_id", gold.case_id, premise.case_id),
        ("series", [series.name for series in view.series], [series.name for series in charted_series]),
        *((name, getattr(view, name), tuple(each for each in getattr(chart, name) if each.day <= last)) for name in DATED),
        ("history", _plain(view.history), _plain(chart.history)),
        ("profile", view.profile, derive_profile(case)),
        ("chart profile", chart.profile, derive_profile(case)),
    )
    for name, found, wanted in compared:
        if found != wanted:
            findings.append(Finding(GATE, name, _first_apart(found, wanted), f"charted {_first_apart(wanted, found)}"))
    for shown, charted in zip(view.series, charted_series, strict=False):
        findings += compare_series(shown, charted, last)
    notes = {note.note_id: note for note in chart.notes if note.day <= last}
    for note in view.notes:
        if notes.pop(note.note_id, None) != note:
            findings.append(Finding(GATE, f"note {note.note_id}, day {note.day}", repr(note.text.en)[:60], "not charted like this"))
    findings += [Finding(GATE, f"note {note.note_id}, day {note.day}", "not in the view", "it was charted") for note in notes.values()]
    dated = sum(len(getattr(view, name)) for name in DATED)
    return Outcome(len(view.series) + len(view.notes) + dated + (view.history is not None), tuple(findings), "an empty view")


def _plain(history: History | None) -> tuple[object, ...] | None:
    """A history as rows that can be compared."""
    if history is None:
        return None
    series = [(each.name, each.unit, each.decimals, each.days.tolist(), each.ticks.tolist()) for each in history.series]
    return (*history.events, *history.prescriptions, *series, *history.visits)


def _first_apart(found: object, wanted: object) -> str:
    """A value as it is said in a finding; of rows the first that the other side does not have in its place."""
    if not isinstance(found, tuple | list):
        return f"{found}"[:120]
    others = list(wanted) if isinstance(wanted, tuple | list) else []
    first = next((row for i, row in enumerate(found) if i >= len(others) or row != others[i]), "nothing")
    return f"{first}"[:120]


def compare_series(shown: Series, charted: Series, last_day: int) -> list[Finding]:
    """The first day on which a shown series is not the charted one up to `last_day`."""
    n = len(shown.days)
    is_whole = n == len(charted.days) or (n < len(charted.days) and int(charted.days[n]) > last_day)
    if shown.name != charted.name:
        return []  # named already: the series do not stand in chart order
    if is_whole and (shown.days == charted.days[:n]).all() and (shown.ticks == charted.ticks[:n]).all():
        return []
    part = charted.until(last_day)
    wanted = dict(zip(part.days.tolist(), part.ticks.tolist(), strict=True))
    found = dict(zip(shown.days.tolist(), shown.ticks.tolist(), strict=True))
    day = min((day for day in {*wanted, *found} if wanted.get(day) != found.get(day)), default=None)
    if day is None:
        return [Finding(GATE, shown.name, "a day that stands twice", "each day once")]

    def said(ticks: dict[int, int]) -> str:
        return print_tick(ticks[day], charted.decimals) if day in ticks else "nothing"

    return [Finding(GATE, f"{shown.name}, day {day}", said(found), f"charted {said(wanted)}")]


def derive_profile(case: CaseUnderCheck) -> Profile:
    """The header this patient must have."""
    patient = case.gold.premise.patient
    return Profile(
        age_low=patient.age_low,
        age_high=patient.age_high,
        sex=patient.sex,
        bmi=patient.bmi,
        known_conditions=(patient.disease, *patient.comorbidities),
        goals=patient.goals,
        devices=patient.devices,
    )
