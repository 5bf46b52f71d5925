"""A fault that a cross-file check found, and its message: place with line, found, allowed, nearest, what to do."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinworld.core.errors import MOST_SHOWN, KnowledgeError, nearest_match
from clinworld.core.tables import Place, load_csv, load_yaml
from clinworld.knowledge.csv_tables import TABLES
from clinworld.knowledge.load import HERE, KINDS, Knowledge
from clinworld.knowledge.places import place_of
from clinworld.schema.finding import Finding

_EXAMPLES = 5  # known ids that a message shows
_STEP = re.compile(r"([^.\[\](),]+)|\[(\d+)\]")
_CELL = re.compile(r"(?P<steps>[^()]*?)(?: \((?P<about>.*)\))?")

_DO = {
    "source_exists": "Add the source to sources.csv, or correct the id.",
    "status_not_raised": "Write the source's own status, or a weaker one.",
    "review_is_shown": "Write none, or pending.",
    "id_resolves": "Correct the id, or add the row it names.",
    "indication_exists": "Name conditions that exist, each with a dose of the ladder.",
    "look_alikes_known": "Name two other conditions that could be taken for this one.",
    "told_apart": "Say what differs, as the files of both conditions have it.",
    "presentations_differ": "Write presentations that differ, of the condition's own symptoms.",
    "ladder_rises": "Put the doses in rising order, each once.",
    "name_stands_for_one_thing": "Take another name, or leave the alias out.",
    "code_stands_for_one_thing": "Correct the code, or leave it out.",
    "code_has_its_shape": "Look the code up again.",
    "class_is_spelt_as_others": "Write the class as the other drugs have it, or `class_is_new: true` where it is another one.",
    "group_is_spelt_as_others": "Write the group as the other analytes have it, or take a name that is less like it.",
    "rule_id_stands_once": "Rename the rule.",
    "fact_stands_once": "Rename the fact.",
    "both_languages_native": "Write the text in its own language.",
    "loinc_check_digit": "Look the code up again, or leave it out.",
    "unit_is_ucum": "Write the unit as UCUM has it.",
    "fact_resolves": "Correct the id, or add a row to rule_facts.csv.",
    "choice_exists": "Write one of the choices of the fact.",
    "subject_exists": "Correct the id, or add the row it names; a complaint has one protocol.",
    "drug_has_one_protocol": "Name each drug in one titration protocol.",
    "rule_is_reachable": "Put the rule before the one that takes its patients, or remove it.",
    "rule_can_be_checked": "Split the rule, or ask fewer facts in it.",
    "threshold_matters": "Remove the comparison, or correct its number.",
    "text_stands_once": "Say it in other words.",
    "wording_means_one_thing": "Say it in other words.",
    "wording_names_nothing": "Say it as a patient would who knows no diagnosis.",
    "event_is_harmless": "Tell a harmless event.",
    "couplings_in_no_circle": "Remove one of these couplings.",
}
_DO_OTHERWISE = "Correct the value, or leave the row out."


@dataclass(frozen=True, slots=True)
class Fault(Finding):
    """A finding that knows the nearest of the ids there are."""

    nearest: str | None = None

    def __str__(self) -> str:
        return Finding.__str__(self) + (f"; nearest: {self.nearest!r}" if self.nearest else "")


def find_unknown(check: str, place: str, names: Iterable[str], known: Collection[str], what: str) -> Iterator[Fault]:
    """A fault for each name that is not among the known ids of `what`, "a stream" for example."""
    for name in names:
        if name not in known:
            examples = [str(each) for _, each in zip(range(_EXAMPLES), known, strict=False)]
            more = f" and {len(known) - _EXAMPLES} more" if len(known) > _EXAMPLES else ""
            yield Fault(check, place, repr(name), f"an id of {what}: {', '.join(examples)}{more}", nearest_match(name, known))


def make_error(finding: Finding, knowledge: Knowledge) -> KnowledgeError:
    """The error that tells of a finding."""
    found = finding.found if len(finding.found) <= 2 * MOST_SHOWN else f"{finding.found[:MOST_SHOWN]}… ({len(finding.found):,} characters)"
    found = "nothing" if found == "''" else found
    nearest = finding.nearest if isinstance(finding, Fault) else None
    where, do = place_with_line(finding, knowledge), _DO.get(finding.check, _DO_OTHERWISE)
    return KnowledgeError(where, f"found {found}", f"expected: {finding.allowed}", nearest=nearest, do=do, kind=finding.check)


def place_with_line(finding: Finding, knowledge: Knowledge) -> str:
    """The place of a finding with the line of what was found there, or of the nearest place around it that is written."""
    rows = ((kind, name) for kind in KINDS for name in knowledge.table(kind))
    around = [(place, kind, name) for kind, name in rows if _stands_in(finding.place, place := place_of(knowledge, kind, name))]
    if not around:
        return finding.place
    place, kind, name = max(around, key=lambda each: len(each[0]))
    path = _file_of(knowledge, kind, name)
    rest = finding.place[len(place) :].removeprefix(", ")
    if path.suffix == ".yaml":
        document = load_yaml(path, error=KnowledgeError)
        return f"{place}, line {document.line(_find_cell(document.value, rest, finding.found))}{rest and ', '}{rest}"
    columns = TABLES["condition_labels" if kind == "conditions" else kind].columns
    line = next((row["_row"] for row in load_csv(path, columns) if row["id"] == name), "1")
    return f"{place.removesuffix(f' ({name})')}, line {line} ({name}){rest and ', '}{rest}"


def _stands_in(place: str, row: str) -> bool:
    return place == row or place.startswith(f"{row}, ")


def _file_of(knowledge: Knowledge, kind: str, name: str) -> Path:
    added = knowledge.added.get(kind, {}).get(name)
    if added is not None:
        return added
    file = place_of(knowledge, kind, name).removesuffix(f" ({name})")
    if (HERE / file).is_dir():  # a table in several files
        return next(path for path in sorted((HERE / file).glob("*.csv")) if f"\n{name}," in path.read_text(encoding="utf-8"))
    return HERE / file


def _find_cell(value: Any, cells: str, found: str) -> Place:
    """The place that `look_alikes[0] (gout), told_apart_by` names in a file, as deep as it is written, with what was found there."""
    place: Place = ()
    for cell in filter(None, cells.split(", ")):
        match = _CELL.fullmatch(cell)
        steps = _STEP.findall(match["steps"] if match else cell)
        for key, number in steps:
            step: str | int = int(number) if number else key
            if isinstance(step, int) != isinstance(value, list) or not _has(value, step):
                break
            place, value = (*place, step), value[step]
        is_numbered = bool(steps) and bool(steps[-1][1])
        if match and match["about"] and not is_numbered and (deeper := _find_word(value, match["about"])):
            place, value = (*place, *deeper), _follow(value, deeper)
    return (*place, *(_find_word(value, found.strip("'\"")) or ()))


def _has(value: Any, step: str | int) -> bool:
    if isinstance(step, int):
        return step < len(value)
    return isinstance(value, dict) and step in value


def _follow(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


def _find_word(value: Any, word: str) -> Place | None:
    """The first place in a value that is a word or is called by it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in inside:
        if word in (step, part):
            return (step,)
        if (deeper := _find_word(part, word)) is not None:
            return (step, *deeper)
    return None
