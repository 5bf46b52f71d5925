"""A protocol as a page to read, in either language, made from the very predicates that decide.

Wordings of the page stand in rule_phrases.csv; names, phrases and units come from the rows of the facts. Numbers are printed as the fact
prints them.
"""

from pathlib import Path
from typing import Any, assert_never

from clinworld.core.text import Language, load_labels
from clinworld.core.units import print_tick, readable_unit, to_ticks
from clinworld.knowledge.markdown import escape, escape_heading
from clinworld.knowledge.rule_facts import RuleKnowledge, known_facts
from clinworld.knowledge.rule_rows import (
    AllOf,
    AnyOf,
    Between,
    FactRef,
    IsTest,
    Missing,
    Not,
    NumberTest,
    OneOf,
    Predicate,
    Protocol,
    Rule,
)

PHRASES = Path(__file__).parent / "rule_phrases.csv"
DOSE_UNIT = "{dose}"
INDENT = "  "


def render_protocol(protocol: Protocol, knowledge: RuleKnowledge, language: Language) -> str:
    """The protocol in Markdown: what it is about, its questions, and its rules in the order in which they are read.

    Every number, unit and name is taken from the predicates and the rows they point to. Sources are not printed here.
    """
    page = _Page(protocol, knowledge, language)
    lines = [f"# {escape_heading(protocol.names.say(language))}", "", page.subject(), "", page.phrase(f"page.read.{protocol.kind}")]
    if protocol.note is not None:
        lines += ["", escape(protocol.note.say(language))]
    if protocol.asks:
        lines += ["", f"## {page.phrase('page.asks')}", "", *(f"- {escape(question.say(language))}" for question in protocol.asks)]
    lines += ["", f"## {page.phrase('page.rules')}"]
    for number, rule in enumerate(protocol.rules, start=1):
        lines += ["", *page.rule(number, rule)]
    return "\n".join(lines) + "\n"


def render_predicate(predicate: Predicate, protocol: Protocol, knowledge: RuleKnowledge, language: Language) -> str:
    """A predicate alone as Markdown bullets, as it stands on the protocol's page."""
    return "\n".join(_Page(protocol, knowledge, language).bullets(predicate, 0))


class _Page:
    """What the lines of one page share: the language and the facts' rows."""

    def __init__(self, protocol: Protocol, knowledge: RuleKnowledge, language: Language) -> None:
        self.protocol, self.knowledge, self.language = protocol, knowledge, language
        self.labels = load_labels(PHRASES)
        self.shapes = known_facts(knowledge)

    def phrase(self, label: str, **values: object) -> str:
        return self.labels.say(label, self.language, **values)

    def sentence(self, label: str, text: str) -> str:
        """A labelled text that ends in a full stop, whether or not it is written with one."""
        stop = self.phrase("page.stop")
        return self.phrase(label, text=escape(text).removesuffix(stop) + stop)

    def subject(self) -> str:
        subject = self.protocol.subject
        if subject.is_all:
            return self.phrase(f"page.about_all.{subject.is_all}")
        if subject.complaint:
            return self.phrase("page.about.complaint", names=self.protocol.names.say(self.language))
        if subject.drugs:
            return self.phrase("page.about.drugs", names=self.listed([self.row_name("drugs", drug) for drug in subject.drugs], "list.and"))
        return self.phrase("page.about.items", names=self.listed([self.name(item) for item in subject.items], "list.and"))

    def rule(self, number: int, rule: Rule) -> list[str]:
        outcome = self.phrase(f"then.{self.protocol.kind}.{rule.then}")
        if rule.stage:
            outcome = self.phrase("page.outcome", ground=self.phrase(f"stage.{rule.stage}"), outcome=outcome)
        return [
            f"### {number}. {outcome}",
            "",
            *self.lead(rule.when),
            "",
            self.sentence("page.what", rule.what.say(self.language)),
            "",
            self.sentence("page.because", rule.because.say(self.language)),
        ]

    def lead(self, predicate: Predicate) -> list[str]:
        """The condition of a rule: a heading that says how its bullets go together, and the bullets."""
        match predicate:
            case AllOf(parts) | AnyOf(parts) | Not(AnyOf(parts)):
                return [self.phrase(f"when.{self.group(predicate)}"), "", *(line for part in parts for line in self.bullets(part, 0))]
            case _:
                return [self.phrase("when.one"), "", *self.bullets(predicate, 0)]

    def group(self, predicate: Predicate) -> str:
        return {AllOf: "all", AnyOf: "any"}.get(type(predicate), "none")

    def bullets(self, predicate: Predicate, depth: int) -> list[str]:
        match predicate:
            case AllOf(parts) | AnyOf(parts) | Not(AnyOf(parts)):
                inner = [line for part in parts for line in self.bullets(part, depth + 1)]
                return [f"{INDENT * depth}- {self.phrase('group.' + self.group(predicate))}", *inner]
            case Not(AllOf(parts)):
                inner = [line for part in parts for line in self.bullets(part, depth + 1)]
                return [f"{INDENT * depth}- {self.phrase('group.not_all')}", *inner]
            case Not(Not(part)):
                return self.bullets(part, depth)
            case OneOf(fact, choices) | Not(OneOf(fact, choices)) if self.shapes[fact].of_kind == "rules":
                group = self.phrase("group.none" if isinstance(predicate, Not) else "group.any")
                lead = f"{INDENT * depth}- {self.phrase('op.is', fact=self.name(fact), value=group)}"
                return [lead, *(f"{INDENT * (depth + 1)}- {self.choice(fact, choice)}" for choice in choices)]
            case Not(part):
                return [f"{INDENT * depth}- {self.comparison(part, is_negated=True)}"]
            case _:
                return [f"{INDENT * depth}- {self.comparison(predicate)}"]

    def comparison(self, leaf: Predicate, *, is_negated: bool = False) -> str:
        match leaf:
            case NumberTest(fact, op, value):
                shown = self.name_inside(value.fact) if isinstance(value, FactRef) else self.number(fact, value)
                text = self.phrase(f"op.{op}", fact=self.name(fact), value=shown)
            case Between(fact, low, high):
                text = self.phrase("op.between", fact=self.name(fact), low=self.number(fact, low), high=self.number(fact, high))
            case IsTest(fact, bool() as value):
                return self.shapes[fact].phrases[0 if value != is_negated else 1].say(self.language)
            case IsTest(fact, value):
                return self.phrase("op.is_not" if is_negated else "op.is", fact=self.name(fact), value=self.choice(fact, str(value)))
            case OneOf(fact, choices):
                named = self.listed([self.choice(fact, choice) for choice in choices], "list.or")
                return self.phrase("op.is_not" if is_negated else "op.is", fact=self.name(fact), value=named)
            case Missing(fact):
                return self.phrase("op.known" if is_negated else "op.missing", fact=self.name(fact))
            case AllOf() | AnyOf() | Not():
                raise TypeError(leaf)  # bullets() takes these apart
            case _:
                assert_never(leaf)
        return self.phrase("op.not", text=text) if is_negated else text

    def name(self, fact: str) -> str:
        return self.shapes[fact].names.say(self.language)

    def name_inside(self, fact: str) -> str:
        """The name of a fact compared with; a first word of small letters begins with a small letter."""
        name = self.name(fact)
        first = name.split(" ")[0]
        return self.phrase("value.fact", name=name[:1].lower() + name[1:] if first[1:].islower() else name)

    def choice(self, fact: str, choice: str) -> str:
        shape = self.shapes[fact]
        if not shape.of_kind:
            return shape.phrases[shape.choices.index(choice)].say(self.language)
        if shape.of_kind == "rules":
            rules = ((protocol, rule) for protocol in self.knowledge.protocols.values() for rule in protocol.rules)
            protocol, rule = next(pair for pair in rules if pair[1].id == choice)
            return self.phrase("list.rule", protocol=protocol.names.say(self.language), text=rule.what.say(self.language))
        return self.row_name(shape.of_kind, choice)

    def row_name(self, kind: str, name: str) -> str:
        row: Any = getattr(self.knowledge, kind)[name]
        return str(row.names.say(self.language))

    def listed(self, names: list[str], last: str) -> str:
        """`a, b and c`; `last` is the label of the final pair."""
        if len(names) == 1:
            return names[0]
        text = names[0]
        for name in names[1:-1]:
            text = self.phrase("list.more", first=text, second=name)
        return self.phrase(last, first=text, second=names[-1])

    def number(self, fact: str, value: float) -> str:
        """A number with its unit, at the decimals of the fact; doses as they stand on a ladder."""
        shape = self.shapes[fact]
        if shape.ucum == DOSE_UNIT:
            return f"{value:g} {readable_unit(self.dose_unit())}"
        return with_unit(print_tick(int(to_ticks(value, shape.decimals)), shape.decimals), shape.ucum, self.language)

    def dose_unit(self) -> str:
        return next(self.knowledge.drugs[drug].dose_unit for drug in self.protocol.subject.drugs)


def with_unit(number: str, ucum: str, language: Language) -> str:
    """A printed number with its unit as a clinician writes it.

    >>> with_unit("7.0", "%", "en"), with_unit("28", "d", "en"), with_unit("1", "d", "en"), with_unit("90", "mm[Hg]", "en")
    ('7.0%', '28 days', '1 day', '90 mmHg')
    """
    labels = load_labels(PHRASES)
    for label in ((f"unit.{ucum}.one",) if number == "1" else ()) + (f"unit.{ucum}",):
        if label in labels:
            return labels.say(label, language, value=number)
    return f"{number} {readable_unit(ucum)}"
