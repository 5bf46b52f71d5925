"""How a protocol file and a row of rule_facts.csv are read. Every mapping is closed: an unknown key is an error that names its line.

That facts, drugs and choices exist and that operators fit them is not known here; `check_rules.py` sees to it.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_args

from clinworld.core.errors import KnowledgeError, allowed_values, found_text, nearest_match, shorten
from clinworld.core.tables import Place, load_yaml, place_text
from clinworld.core.text import Wording
from clinworld.knowledge.cells import MOST_WORDS, Cells, PlacedCells
from clinworld.knowledge.rule_rows import (
    OUTCOMES,
    STAGES,
    AllOf,
    AnyOf,
    Between,
    FactKind,
    FactRef,
    IsTest,
    Missing,
    Not,
    NumberTest,
    OneOf,
    Operator,
    Predicate,
    Protocol,
    ProtocolKind,
    Rule,
    RuleFact,
    Subject,
)
from clinworld.knowledge.rules import comparisons

HERE = Path(__file__).parent
REVIEWS = ("none", "pending", "signed")
NUMBER_OPS: tuple[str, ...] = get_args(Operator)
OPERATORS = (*NUMBER_OPS, "between", "is", "one_of", "missing")
FEWEST_PARTS = 2

_PROTOCOL = ("id", "kind", "names", "clinical_review", "subject", "asks", "note", "rules", "source", "status")
_RULE = ("id", "stage", "when", "then", "what", "because", "source", "status")

Where = Callable[[Place], str]


def read_protocol(path: Path) -> Protocol:
    """The protocol in one file; the file's name is its id. Raises KnowledgeError for whatever is not plainly one thing."""
    document = load_yaml(path, error=KnowledgeError)
    name = f"{path.parent.name}/{path.name}" if path.parent.parent == HERE else str(path)

    def where(place: Place) -> str:
        return f"{name}, line {document.line(place)}{f', {place_text(place)}' if place else ''}"

    cells = _closed(document.value, (), where, _PROTOCOL, optional=("asks", "note"))
    if cells.id() != path.stem:
        raise cells.fail("id", cells.id(), f"the id is the file's name, {path.stem!r}", do="Rename one of them.")
    source, status = cells.origin()
    kind: ProtocolKind = cells.choice("kind", OUTCOMES)  # type: ignore[assignment]  # a choice of the Literal's own values
    if ("asks" in cells.values) != (kind == "triage"):
        raise cells.fail(
            "asks", cells.values.get("asks"), "a triage protocol has questions, and only such a one", do="Add or remove the questions."
        )
    return Protocol(
        id=path.stem,
        kind=kind,
        names=_wording(cells, "names", (), where),
        clinical_review=cells.choice("clinical_review", REVIEWS),
        subject=_read_subject(cells, kind, where),
        asks=_read_questions(cells, where) if kind == "triage" else (),
        note=_wording(cells, "note", (), where) if "note" in cells.values else None,
        rules=tuple(_read_rule(value, ("rules", index), kind, where) for index, value in enumerate(_list(cells, "rules"))),
        source=source,
        status=status,
    )


def _read_rule(value: Any, place: Place, kind: ProtocolKind, where: Where) -> Rule:
    keys = _RULE if kind == "titration" else tuple(key for key in _RULE if key != "stage")
    cells = _closed(value, place, where, keys)
    source, status = cells.origin()
    when = read_predicate(cells.values["when"], (*place, "when"), where)
    if len(comparisons(when)) > MOST_WORDS:
        raise KnowledgeError(
            where((*place, "when")), f"found {len(comparisons(when)):,} comparisons", f"at most {MOST_WORDS}", do="Split it."
        )
    return Rule(
        id=cells.id(),
        when=when,
        then=cells.choice("then", OUTCOMES[kind]),
        what=_wording(cells, "what", place, where),
        because=_wording(cells, "because", place, where),
        source=source,
        status=status,
        stage=cells.choice("stage", STAGES) if kind == "titration" else "",
    )


def read_predicate(value: Any, place: Place, where: Where) -> Predicate:
    """The predicate in a mapping that stands at `place`; `where` names a place in the file."""
    if not isinstance(value, dict) or not value:
        allowed = "a mapping is expected; allowed: all, any, not, or fact with one operator"
        raise KnowledgeError(where(place), found_text(value), allowed, do="Write `{fact: id, at_least: number}` for example.")
    if "fact" in value:
        return _read_comparison(value, place, where)
    key = next(iter(value))
    if len(value) > 1 or key not in ("all", "any", "not"):
        known = ("all", "any", "not", "fact")
        wrong = key if key not in known else list(value)[1]
        raise _unknown_key(where((*place, wrong)), wrong, known)
    if key == "not":
        return Not(read_predicate(value["not"], (*place, "not"), where))
    parts = value[key]
    if not isinstance(parts, list) or len(parts) < FEWEST_PARTS:
        allowed = "a list of at least two predicates is expected"
        raise KnowledgeError(where((*place, key)), found_text(parts), allowed, do="Write a single predicate without all or any.")
    if len(parts) > MOST_WORDS:
        told = f"found {len(parts):,} predicates"
        raise KnowledgeError(where((*place, key)), told, f"at most {MOST_WORDS}", do="Keep those that matter.")
    read = tuple(read_predicate(part, (*place, key, index), where) for index, part in enumerate(parts))
    for index, part in enumerate(read):
        if part in read[:index]:
            raise KnowledgeError(where((*place, key, index)), "the same predicate again", "each part stands once", do="Remove one of them.")
    return AllOf(read) if key == "all" else AnyOf(read)


def _read_comparison(value: dict[str, Any], place: Place, where: Where) -> Predicate:
    cells = _closed(value, place, where, ("fact", *OPERATORS), optional=OPERATORS)
    fact = cells.id("fact")
    ops = [key for key in value if key != "fact"]
    if len(ops) != 1:
        raise KnowledgeError(where(place), f"{len(ops)} operators", f"exactly one; {allowed_values(OPERATORS)}", do="Put two in an `all`.")
    op, found = ops[0], value[ops[0]]
    if op in NUMBER_OPS:
        if isinstance(found, dict):
            return NumberTest(fact, op, FactRef(_closed(found, (*place, op), where, ("fact",)).id("fact")))  # type: ignore[arg-type]  # NUMBER_OPS
        return NumberTest(fact, op, cells.number(op))  # type: ignore[arg-type]  # one of NUMBER_OPS
    if op == "between":
        pair = PlacedCells({f"{number}": value for number, value in enumerate(_list(cells, op))}, (*place, op), where)
        if len(pair.values) != FEWEST_PARTS:
            raise cells.fail(op, found, "a list [low, high] is expected", do="Write the lower number, then the higher.")
        low, high = pair.number("0"), pair.number("1")
        if low >= high:
            raise cells.fail(op, found, "low is less than high", do="Write the lower number first.")
        return Between(fact, low, high)
    if op == "is":
        return IsTest(fact, found if isinstance(found, bool) else cells.word(op))
    if op == "one_of":
        choices = cells.words(op) if isinstance(found, list) else ()
        if len(choices) < FEWEST_PARTS:
            raise cells.fail(op, found, "a list of at least two choices is expected", do="Use `is` for one.")
        return OneOf(fact, choices)
    if found is not True:
        raise cells.fail(op, found, "only `missing: true`", do="Use `not` for a fact that is known.")
    return Missing(fact)


def _read_subject(cells: Cells, kind: ProtocolKind, where: Where) -> Subject:
    key = {"titration": "drugs", "triage": "complaint", "lab_change": "items", "value_alarm": "items"}[kind]
    subject = _closed(cells.values["subject"], ("subject",), where, (key,))
    found = subject.values[key]
    if found == "all":
        return Subject(is_all="complaints" if key == "complaint" else "drugs" if key == "drugs" else "items")
    if key == "complaint":
        return Subject(complaint=subject.id(key))
    if not isinstance(found, list) or not found:
        raise subject.fail(key, found, "a list of ids, or all, is expected", do="Write [id] for one.")
    return Subject(drugs=subject.words(key)) if key == "drugs" else Subject(items=subject.words(key))


def _read_questions(cells: Cells, where: Where) -> tuple[Wording, ...]:
    pair = _closed(cells.values["asks"], ("asks",), where, ("en", "zh"))
    english, chinese = pair.words("en"), pair.words("zh")
    if not english or len(english) != len(chinese):
        raise pair.fail(
            "zh", len(chinese), f"as many questions as in English, {len(english)}, and at least one", do="Ask the same in both."
        )
    return tuple(Wording(*both) for both in zip(english, chinese, strict=True))


def read_rule_fact(cells: Cells) -> RuleFact:
    """One thing a rule may look at."""
    source, status = cells.origin()
    kind: FactKind = cells.choice("kind", get_args(FactKind))  # type: ignore[assignment]  # a choice of the Literal's own values
    choices, english, chinese = cells.words("choices"), cells.words("choices_en"), cells.words("choices_zh")
    of_kind = choices[0][1:] if choices and choices[0].startswith("@") else ""
    is_number = kind == "number"
    for column in ("ucum", "decimals", "low", "high"):
        if bool(cells.values.get(column)) != is_number:
            raise cells.fail(
                column, cells.values.get(column), "a number has unit, decimals and bounds, a flag or choice none", do="Fill or empty it."
            )
    wanted = {"number": 0, "flag": 2, "choice": 0 if of_kind else len(choices)}[kind]
    for column, phrases in (("choices_en", english), ("choices_zh", chinese)):
        if len(phrases) != wanted:
            raise cells.fail(column, "|".join(phrases), f"{wanted} phrases between | are expected for this {kind}")
    fits = {"number": not choices, "flag": not choices, "choice": len(choices) == 1 if of_kind else len(choices) >= FEWEST_PARTS}[kind]
    if not fits:
        raise cells.fail("choices", "|".join(choices), "ids between |, or @kind alone, for a choice; empty for a number or flag")
    low, high = cells.maybe_number("low"), cells.maybe_number("high")
    if low is not None and high is not None and low >= high:
        raise cells.fail("high", high, f"more than low, {low:g}", do="Exchange them.")
    return RuleFact(
        id=cells.id(),
        names=cells.wording("name"),
        kind=kind,
        ucum=cells.maybe_word("ucum"),
        decimals=cells.maybe_whole("decimals", 0, 4) or 0,
        low=low,
        high=high,
        choices=() if of_kind else choices,
        of_kind=of_kind,
        phrases=tuple(Wording(*both) for both in zip(english, chinese, strict=True)),
        source=source,
        status=status,
    )


def _closed(value: Any, place: Place, where: Where, keys: Iterable[str], *, optional: Iterable[str] = ()) -> Cells:
    known, may_lack = tuple(keys), tuple(optional)
    if not isinstance(value, dict):
        raise KnowledgeError(
            where(place), found_text(value), "a mapping is expected; " + allowed_values(known), do="Write `key: value` pairs."
        )
    for key in value:
        if key not in known:
            raise _unknown_key(where((*place, key)), key, known)
    for key in known:
        if key not in value and key not in may_lack:
            raise KnowledgeError(where(place), f"no key {key!r}", allowed_values(known), do="Add the key.")
    return PlacedCells(value, place, where)


def _unknown_key(where: str, key: str, known: Iterable[str]) -> KnowledgeError:
    options = tuple(known)
    nearest = nearest_match(key, options)
    return KnowledgeError(where, f"no key {shorten(key)} here", allowed_values(options), nearest=nearest, do="Rename or remove the key.")


def _list(cells: Cells, key: str) -> list[Any]:
    value = cells.values.get(key)
    if not isinstance(value, list) or not value:
        raise cells.fail(key, value, "a list is expected", do="Write [ ... ], or one `- ` line an entry.")
    cells.check_length(key, value)
    return value


def _wording(cells: Cells, key: str, place: Place, where: Where) -> Wording:
    pair = _closed(cells.values.get(key), (*place, key), where, ("en", "zh"))
    return Wording(pair.word("en"), pair.word("zh"))
