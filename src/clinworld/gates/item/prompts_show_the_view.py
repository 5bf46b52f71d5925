"""What stands between the record's marks says exactly what the view holds on that day: read back from the text and compared.

Every episode's opening and last turn are read back whole. Numbers in headings and in the patient header must be those of the rows and
of the patient. What is not read back, such as a history, must stand line by line as the view is printed.
"""

from functools import lru_cache
from itertools import zip_longest

from clinworld.access.delivered import Delivered, parse_delivered
from clinworld.access.record_text import CLOSE, LABELS, OPEN, one_line, render_record
from clinworld.access.view import cut_view
from clinworld.core.errors import AnswerInvalid
from clinworld.core.tables import load_csv
from clinworld.core.text import Language
from clinworld.gates.case import CaseUnderCheck, Outcome, Prompt
from clinworld.gates.hidden_values import hidden_numbers
from clinworld.gates.printed_numbers import canonical_of, read_line, readings_of
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.record import Record

CONTROLS = ("a_record_read_back", "a_value_planted_in_the_record")
GATE = "prompts_show_the_view"
ALLOWED = "what the view holds on that day"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the opening and the last prompt of each episode."""
    findings: list[Finding] = []
    read: set[str] = set()
    for prompt in choose_prompts(case.prompts):
        body = record_part(prompt.text)
        if body in read:
            continue
        read.add(body)
        try:
            delivered = parse_delivered(body, case.item.language)
        except (AnswerInvalid, ValueError, IndexError) as problem:
            findings.append(Finding(GATE, f"prompt {prompt.name}", f"a record that cannot be read back ({problem})", ALLOWED))
            continue
        view = cut_view(case.item.record, prompt.day)
        findings += find_other_line(prompt, body, view, case)
        findings += [Finding(GATE, f"prompt {prompt.name}, {place}", found, ALLOWED) for place, found in compare(delivered, view)]
        findings += check_headings(prompt, body, view, case)
    return Outcome(len(read), tuple(findings), "the item causes no prompt")


def find_other_line(prompt: Prompt, body: str, view: Record, case: CaseUnderCheck) -> list[Finding]:
    """The first line of a record's text that is not the one printed from the view."""
    wanted = render_record(view, case.item.language, case.knowledge, whole=case.item.record)
    if body == wanted:
        return []
    lines = zip_longest(body.split("\n"), wanted.split("\n"), fillvalue="")
    found, printed = next((pair for pair in lines if pair[0] != pair[1]), (body[-80:], wanted[-80:]))
    return [Finding(GATE, f"prompt {prompt.name}, {printed[:30] or 'record'}", repr(found[:80]), repr(printed[:80]))]


def choose_prompts(prompts: tuple[Prompt, ...]) -> list[Prompt]:
    """The first and the last prompt of each episode."""
    by_episode: dict[str, list[Prompt]] = {}
    for prompt in prompts:
        by_episode.setdefault(prompt.name.split("/")[0], []).append(prompt)
    return [each for listed in by_episode.values() for each in (*listed[:2], *listed[2:][-1:])]


def record_part(text: str) -> str:
    """The record of a prompt with its marks, "" when there is none."""
    start, end = text.find(f"{OPEN}\n"), text.rfind(f"\n{CLOSE}")
    return text[start : end + 1 + len(CLOSE)] if 0 <= start < end else ""


def compare(delivered: Delivered, view: Record) -> list[tuple[str, str]]:
    """(place, what was found) of every difference between a record read back and the view."""
    found: list[tuple[str, str]] = []
    if delivered.last_day != view.last_day:
        found.append(("first line", f"day {delivered.last_day}"))
    names = {series.name for series in view.series}
    if names != set(delivered.series):
        found.append(("measurements", "other series: " + ", ".join(sorted(names ^ set(delivered.series)))))
    for series in view.series:
        said = delivered.series.get(series.name)
        if said is not None and list(said.days) != series.days.tolist():
            found.append((series.name, f"{len(said.days)} values on other days"))
        elif said is not None and said.values != tuple(series.values().tolist()):
            wrong = [i for i, tick in enumerate(series.ticks.tolist()) if said.values[i] != tick / 10**series.decimals]
            found += [(f"{series.name}, day {said.days[i]}", f"{said.values[i]:g}") for i in wrong[:1]]
    doses = sorted((order.day, order.drug, float(f"{order.dose:g}")) for order in view.prescriptions)
    if sorted((dose.day, dose.drug, dose.dose) for dose in delivered.prescriptions) != doses:
        found.append(("prescriptions", "other doses"))
    said_notes = [(note.note_id, note.day, note.text, note.context) for note in delivered.notes]
    if said_notes != expected_notes(view, delivered.language):
        found.append(("notes", "other notes"))
    return found


def expected_notes(view: Record, language: Language) -> list[tuple[str, int, str, str | None]]:
    """The notes of a view, as their lines say them."""
    ordered = sorted(view.notes, key=lambda note: (note.day, note.note_id))
    return [
        (note.note_id, note.day, one_line(note.text.say(language)), one_line(note.context.say(language)) if note.context else None)
        for note in ordered
    ]


def check_headings(prompt: Prompt, body: str, view: Record, case: CaseUnderCheck) -> list[Finding]:
    """Numbers in headings and in the patient header that neither the patient nor a row explains."""
    profile, language = view.profile, case.item.language
    own = readings_of(
        [*(str(each) for each in (profile.age_low, profile.age_high, profile.bmi, view.last_day) if each is not None), *profile.goals]
    )
    rows = (*(series.name for series in view.series), *profile.known_conditions, *profile.devices, *(p.drug for p in view.prescriptions))
    known = heading_readings(rows, language, case.knowledge)
    return [
        Finding(GATE, f"prompt {prompt.name}, {line[:30]}", f"the number {number.text!r}{hidden_numbers(case).explain(number)}", ALLOWED)
        for line in body.split("\n")
        if line and not is_values(line)
        for number in read_line(line)
        if number.readings[0] not in known and number.readings[0] not in own
    ]


def is_values(line: str) -> bool:
    """True for a line of values or doses, a note or its context: compared above, word by word."""
    return line[0] in "[ " or (line[0] == "d" and line[1:2].isdigit())


@lru_cache(maxsize=256)
def heading_readings(rows: tuple[str, ...], language: Language, knowledge: Knowledge) -> frozenset[str]:
    """The numbers that the named rows, the labels and the steps of a series explain."""
    steps = frozenset(canonical_of(step) for step in range(2, 15))
    return steps.union(label_readings(language), *(row_readings(name, language, knowledge) for name in dict.fromkeys(rows)))


@lru_cache(maxsize=1024)
def row_readings(name: str, language: Language, knowledge: Knowledge) -> frozenset[str]:
    """The numbers in the id, name, unit, dose unit and reference interval of a row."""
    texts = [name]
    for kind in ("streams", "analytes", "conditions", "devices", "drugs"):
        row = getattr(knowledge, kind).get(name)
        if row is None:
            continue
        texts += [row.names.say(language), getattr(row, "ucum", ""), getattr(row, "dose_unit", ""), getattr(row, "frequency", "")]
        bounds = [getattr(row, f"ref_{side}_{sex}", None) for side in ("low", "high") for sex in "mf"]
        texts += [f"{bound:.{row.decimals}f}" for bound in bounds if bound is not None]
    return readings_of(texts)


@lru_cache(maxsize=4)
def label_readings(language: Language) -> frozenset[str]:
    """The numbers of the labels a record is written with."""
    return readings_of(row[language] for row in load_csv(LABELS, ("id", "en", "zh")) if row["id"] != "how_to_read")
