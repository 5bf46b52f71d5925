"""A record as compact text, natively in either language. Every number stands with exactly its decimals.

Grammar, explained to the reader by the label `how_to_read` and read back by `delivered.py`: a series is a heading and then either
rows `d14: 97.2 . 96.8` (one value a step from the labelled day, `.` where none was made) or a list `d14 6.8, d45 6.5`.
What a pack may see beyond that (history, dispensing, specimens, findings) stands where a reader of series and notes passes over it:
history indented above the prescriptions, the others after the notes.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import get_args

import numpy as np
import orjson
from numpy.typing import NDArray

from clinworld.core.errors import KnowledgeError, nearest_match
from clinworld.core.text import Labels, Language, load_labels
from clinworld.core.units import print_tick, readable_unit
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, FindingKind
from clinworld.schema.record import Dispensing, FindingResult, History, Note, Prescription, Profile, Record, Series, Setting, Specimen

LABELS = Path(__file__).with_name("labels.csv")
OPEN, CLOSE = "<record>", "</record>"
SETTINGS: tuple[Setting, ...] = get_args(Setting)
ROW_CELLS = 28  # four weeks of a daily series
LEAST_IN_ROWS = 4  # a few values, or values more than two weeks apart, read better with their days
LONGEST_STEP = 14
DOTS = 2  # up to so many missing cells are dots; a longer gap starts again with a day
DOT = "."
# A line of values alone holds no word; most of a prompt is such lines.
_VALUES = re.compile(r"\nd\d[-0-9 .,:]*(?:d\d[-0-9 .,:]*)*(?=\n)")
_LEADS = np.array([" ", f" {DOT} ", f" {DOT} {DOT} "], dtype=object)

Days = NDArray[np.int64]


def split_record(text: str) -> tuple[str, str, str]:
    """A prompt before its record, the record from its opening mark to the end of its last line, the rest; ("", "", text) without one."""
    start, end = text.find(f"{OPEN}\n"), text.rfind(f"\n{CLOSE}")
    return (text[:start], text[start : end + 1], text[end + 1 :]) if 0 <= start < end else ("", "", text)


@lru_cache(maxsize=64)
def drop_values(record: str) -> str:
    """A record (`split_record`) without its lines of values, for a search of words."""
    return _VALUES.sub("", record)


@lru_cache(maxsize=64)  # one view is printed for every agent, with and without appended questions
def render_record(record: Record, language: Language, knowledge: Knowledge, *, whole: Record | None = None) -> str:
    """The whole text of a record, between `<record>` and `</record>` lines.

    `whole` is the record this one is a cut of: its series are printed once for all cuts, which are beginnings of them.
    """
    labels = load_labels(LABELS)
    uncut = {series.name: series for series in (whole or record).series}
    lines = [OPEN, labels.say("days_shown", language, last=record.last_day)]
    lines += _profile_lines(record.profile, language, knowledge, labels)
    if record.history is not None:
        lines += ["", labels.say("history", language), *_history_lines(record.history, record.profile.sex, language, knowledge, labels)]
    lines += ["", labels.say("prescriptions", language), *_prescription_lines(record.prescriptions, language, knowledge, labels)]
    for setting in SETTINGS:
        within = [series for series in record.series if series.setting == setting]
        lines += ["", labels.say(f"setting:{setting}", language)] if within else []
        for series in within:
            lines += _series_lines(series, uncut[series.name], record.profile.sex, language, knowledge)
    lines += ["", labels.say("notes", language), *_note_lines(record.notes, language, labels)]
    lines += _further_lines(record, language, knowledge, labels)
    return "\n".join([*lines, CLOSE])


def _profile_lines(profile: Profile, language: Language, knowledge: Knowledge, labels: Labels) -> list[str]:
    def named(ids: tuple[str, ...], rows: Mapping[str, object]) -> str:
        names = [rows[each].names.say(language) if each in rows else each for each in ids]  # type: ignore[attr-defined]  # both kinds have names
        return labels.say("joiner", language, space=" ").join(names) or labels.say("none_known", language)

    goals = [labels.say(f"goal:{goal}", language) if f"goal:{goal}" in labels else goal.replace("_", " ") for goal in profile.goals]
    sex = labels.say(f"sex:{profile.sex}", language)
    lines = [labels.say("patient", language, low=profile.age_low, high=profile.age_high, sex=sex)]
    if profile.bmi is not None:
        lines.append(labels.say("bmi", language, bmi=profile.bmi))
    lines.append(labels.say("conditions", language, names=named(profile.known_conditions, knowledge.conditions)))
    lines.append(
        labels.say("goals", language, names=labels.say("joiner", language, space=" ").join(goals) or labels.say("none_known", language))
    )
    lines.append(labels.say("devices", language, names=named(profile.devices, knowledge.devices)))
    return lines


def _prescription_lines(prescriptions: tuple[Prescription, ...], language: Language, knowledge: Knowledge, labels: Labels) -> list[str]:
    groups: dict[tuple[str, str, str], list[Prescription]] = {}
    for each in prescriptions:
        groups.setdefault((each.drug, each.unit, each.frequency), []).append(each)
    lines: list[str] = []
    for (drug, unit, frequency), doses in groups.items():
        name = knowledge.drugs[drug].names.say(language) if drug in knowledge.drugs else drug
        said = labels.say(f"frequency:{frequency}", language)
        facts = labels.say("fact_joiner", language, space=" ").join((unit, said))
        lines += [
            _heading(drug, name, facts, language, labels),
            ", ".join(f"d{dose.day} {dose.dose:g}" for dose in sorted(doses, key=lambda dose: dose.day)),
        ]
    return lines or [labels.say("none_known", language)]


def _note_lines(notes: tuple[Note, ...], language: Language, labels: Labels) -> list[str]:
    lines: list[str] = []
    for note in sorted(notes, key=lambda note: (note.day, note.note_id)):
        lines.append(f"[{note.note_id}] d{note.day} {labels.say(f'note:{note.source}', language)}: {one_line(note.text.say(language))}")
        if note.context is not None:
            lines.append(f"  {one_line(note.context.say(language))}")
    return lines or [labels.say("no_notes", language)]


def _history_lines(history: History, sex: str, language: Language, knowledge: Knowledge, labels: Labels) -> list[str]:
    """What was charted before day 0, indented: its days are no days of the course."""
    visits = " ".join(f"d{day}" for day in history.visits) or labels.say("none_known", language)
    lines = [labels.say("history_how", language), labels.say("past_visits", language, days=visits)]
    for event in history.events:
        place = labels.say(f"place:{event.source}", language)
        lines.append(labels.say("past_event", language, day=event.day, place=place, text=one_line(event.text.say(language))))
    for order in history.prescriptions:
        drug = knowledge.drugs.get(order.drug)
        facts = (order.unit, labels.say(f"frequency:{drug.frequency}", language)) if drug else (order.unit,)
        joined = labels.say("fact_joiner", language, space=" ").join(facts)
        head = _heading(order.drug, drug.names.say(language) if drug else order.drug, joined, language, labels)
        label = "past_order" if order.last_day is not None else "past_order_open"
        lines.append(labels.say(label, language, head=head, first=order.first_day, last=order.last_day, dose=f"{order.dose:g}"))
    for series in history.series:
        head = _series_head(series.name, series.unit, 0, sex, language, knowledge)
        values = zip(series.days.tolist(), print_ticks(series), strict=True)
        lines.append(f"{head}: {', '.join(f'd{day} {value}' for day, value in values)}")
    return [f"  {line}" for line in lines]


def _further_lines(record: Record, language: Language, knowledge: Knowledge, labels: Labels) -> list[str]:
    """Parts of the course that only some packs see; none of those that nothing is charted of. Every line of facts begins with its day."""
    changes = [
        labels.say(
            "method_change",
            language,
            day=change.day,
            analyte=knowledge.analytes[change.analyte].names.say(language),
            before=knowledge.platforms[change.platform_before].names.say(language),
            after=knowledge.platforms[change.platform_after].names.say(language),
        )
        for change in record.method_changes
    ]
    parts = {
        "dispensing": _dispensing_lines(record.dispensing, language, knowledge, labels),
        "specimens": [_specimen_line(each, language, knowledge, labels) for each in record.specimens],
        "method_changes": changes,
        "findings": _finding_lines(record.findings, language, knowledge, labels),
    }
    return [line for name, lines in parts.items() if lines for line in ("", labels.say(name, language), *lines)]


def _dispensing_lines(packs: tuple[Dispensing, ...], language: Language, knowledge: Knowledge, labels: Labels) -> list[str]:
    lines: list[str] = []
    for drug, unit in dict.fromkeys((pack.drug, pack.unit) for pack in packs):
        often = labels.say(f"frequency:{knowledge.drugs[drug].frequency}", language)
        facts = labels.say("pack_facts", language, unit=unit, often=often)
        entries = (f"d{pack.day} {pack.dose:g}x{pack.days_supplied}" for pack in packs if (pack.drug, pack.unit) == (drug, unit))
        lines += [_heading(drug, knowledge.drugs[drug].names.say(language), facts, language, labels), ", ".join(entries)]
    return lines


def _specimen_line(specimen: Specimen, language: Language, knowledge: Knowledge, labels: Labels) -> str:
    facts = [
        labels.say("fasting" if specimen.is_fasting else "not_fasting", language),
        labels.say(f"site:{specimen.site}", language),
        *(knowledge.platforms[each].names.say(language) for each in (specimen.platform, *specimen.others)),
    ]
    if specimen.comment:
        facts.append(labels.say("comment", language, text=knowledge.factors[specimen.comment].names.say(language)))
    hour, minute = divmod(specimen.minute_of_day, 60)
    return f"d{specimen.day} {hour:02d}:{minute:02d} " + labels.say("fact_joiner", language, space=" ").join(facts)


def _finding_lines(findings: tuple[FindingResult, ...], language: Language, knowledge: Knowledge, labels: Labels) -> list[str]:
    """One line a day."""
    joiner = labels.say("fact_joiner", language, space=" ")
    days = dict.fromkeys(found.day for found in findings)
    said = {day: [_finding_text(found, language, knowledge, labels) for found in findings if found.day == day] for day in days}
    return [f"d{day} {joiner.join(texts)}" for day, texts in said.items()]


def _finding_text(found: FindingResult, language: Language, knowledge: Knowledge, labels: Labels) -> str:
    row = knowledge.items[found.name]
    if found.ticks is not None:
        said = f"{print_tick(found.ticks, found.decimals)} {render_unit(row.ucum, language, labels)}".strip()
    else:
        phrase = (row.positive if found.is_positive else row.negative) if isinstance(row, FindingKind) else None
        said = phrase.say(language) if phrase else labels.say("finding_positive" if found.is_positive else "finding_negative", language)
    return labels.say("finding", language, name=row.names.say(language), result=said)


def one_line(text: str) -> str:
    """Text with every run of white space as one space, so that it cannot look like another line of the record."""
    return " ".join(text.split())


def _series_lines(series: Series, uncut: Series, sex: str, language: Language, knowledge: Knowledge) -> list[str]:
    step = choose_step(series.days.astype(np.int64))
    head = _series_head(series.name, series.unit, step, sex, language, knowledge)
    return [head, "".join(print_parts(uncut, step)[: 2 * len(series.days)])]


@lru_cache(maxsize=1024)
def _series_head(name: str, unit: str, step: int, sex: str, language: Language, knowledge: Knowledge) -> str:
    row = knowledge.streams.get(name) or knowledge.analytes.get(name)
    if row is None:
        nearest = nearest_match(name, [*knowledge.streams, *knowledge.analytes])
        raise KnowledgeError("streams, analytes", f"no row for the charted series {name!r}", nearest=nearest, do="Add a row.")
    labels = load_labels(LABELS)
    facts = [render_unit(unit, language, labels)]
    if isinstance(row, Analyte) and row.ucum == unit:
        facts += _reference(row, sex, language, labels)
    if step > 1:
        facts.append(labels.say("every", language, step=step))
    joined = labels.say("fact_joiner", language, space=" ").join(facts)
    return _heading(name, row.names.say(language), joined, language, labels)


def _heading(name: str, said: str, facts: str, language: Language, labels: Labels) -> str:
    # A name that only repeats the id is not said twice.
    label = "series_head_plain" if said.casefold() == name.replace("_", " ") else "series_head"
    return labels.say(label, language, id=name, name=said, facts=facts)


def render_unit(ucum: str, language: Language, labels: Labels) -> str:
    """A unit as a reader of the language writes it."""
    return labels.say(f"unit:{ucum}", language) if f"unit:{ucum}" in labels else readable_unit(ucum)


def _reference(row: Analyte, sex: str, language: Language, labels: Labels) -> list[str]:
    low, high = (row.ref_low_f, row.ref_high_f) if sex == "F" else (row.ref_low_m, row.ref_high_m)
    low_text, high_text = (None if bound is None else f"{bound:.{row.decimals}f}" for bound in (low, high))
    if low is None and high is None:
        return []
    if low is None:
        return [labels.say("ref_below", language, high=high_text)]
    if high is None:
        return [labels.say("ref_above", language, low=low_text)]
    return [labels.say("ref_between", language, low=low_text, high=high_text)]


def print_ticks(series: Series) -> list[str]:
    """The printed values, each with exactly its decimals."""
    # JSON prints whole numbers and tenths exactly as a record does, and far faster than one format call a value.
    if series.decimals > 1:
        form = " ".join([f"%.{series.decimals}f"] * len(series.ticks))
        return (form % tuple(series.values().tolist())).split()
    numbers = series.ticks if series.decimals == 0 else series.ticks / 10.0
    raw = orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY)
    return raw[1:-1].decode().split(",") if len(series.ticks) else []


def choose_step(days: Days) -> int:
    """Days between the cells of a row, or 0 where a list of single days is shorter."""
    if len(days) < LEAST_IN_ROWS:
        return 0
    gaps = days[1:] - days[:-1]
    step = 1 if int(gaps.min()) == 1 else int(np.gcd.reduce(gaps))
    long = gaps[gaps > (DOTS + 1) * step]
    dots = (int(days[-1] - days[0]) - int(long.sum())) // step - (len(gaps) - len(long))
    in_rows = len(days) + 2 * dots + len("d100: ") * len(long)
    return step if step <= LONGEST_STEP and 2 * in_rows <= len("d100 , ") * len(days) else 0


@lru_cache(maxsize=256)
def print_parts(series: Series, step: int) -> tuple[str, ...]:
    """What stands before each value, and the value, in turn. A beginning of a series is printed as the beginning of this."""
    days, tokens = series.days.astype(np.int64), print_ticks(series)
    parts: list[str] = [""] * (2 * len(tokens))
    parts[::2] = _lead_in_rows(days, step) if step else [f", d{day} " for day in days.tolist()]
    parts[:1] = [f"d{day}: " if step else f"d{day} " for day in days[:1]]
    parts[1::2] = tokens
    return tuple(parts)


def _lead_in_rows(days: Days, step: int) -> list[str]:
    """What stands before each value in rows of at most 28 cells; one starts at every 28th cell from day 0 (daily) or from the first."""
    cells = days if step == 1 else (days - days[0]) // step
    missing = cells[1:] - cells[:-1] - 1
    row = cells // ROW_CELLS
    starts_row = row[1:] > row[:-1]
    lead = _LEADS[np.minimum(missing, DOTS)]
    for i in (starts_row | (missing > DOTS)).nonzero()[0].tolist():
        lead[i] = f"\nd{days[i + 1]}: " if starts_row[i] else f" d{days[i + 1]}: "
    return ["", *lead.tolist()]
