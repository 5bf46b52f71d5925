"""The listing in one language: fields, closed words and ids of a row as the reference pages call them, from the same label tables."""

from dataclasses import fields, is_dataclass
from functools import reduce
from typing import Any

from clinworld.core.text import Language, Wording
from clinworld.knowledge.condition_rows import Wordings
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.page_text import Book
from clinworld.knowledge.protocol_text import INDENT, render_predicate
from clinworld.knowledge.rows import Drug, DrugEffect, Stream
from clinworld.knowledge.rule_rows import AllOf, AnyOf, Between, IsTest, Missing, Not, NumberTest, OneOf, Protocol, Rule, Subject

PREDICATES = (AllOf, AnyOf, Not, NumberTest, Between, IsTest, OneOf, Missing)
_ITEMS = ("analytes", "streams", "findings", "tests", "rule_facts")
_GROUPS = {  # the closed list that a field takes its words from, where it is not called as the field is
    **{"drug_class": "class", "clinical_review": "review", "moves": "shown", "here": "shown", "there": "shown"},
    **{"of": "correlated", "level": "compared", "of_kind": "index"},
}
_KIND_WORDS = {  # what `kind` is a word of, by the class of the row
    **{"Protocol": "protocol", "FindingKind": "kind", "Contraindication": "contraindication", "Interaction": "interaction"},
    **{
        "LabFactor": "factor_kind",
        "BenignEvent": "event_kind",
        "OldEvent": "past_kind",
        "Symptom": "symptom_kind",
        "RuleFact": "fact_kind",
    },
}
_REFERS = {  # fields that hold ids, and the kinds these are of
    **dict.fromkeys(("item", "items", "signals", "measures", "series", "parent", "evidence", "observed_in", "reports"), _ITEMS),
    **dict.fromkeys(("a", "b", "cause", "effect"), ("conditions", *_ITEMS)),
    **dict.fromkeys(("symptom", "opens_with", "then", "complaint"), ("symptoms",)),
    **dict.fromkeys(("condition", "diagnostic_of", "off_label", "shares_code_with"), ("conditions",)),
    **dict.fromkeys(("drug", "drugs", "taken"), ("drugs",)),
    **dict.fromkeys(("first_line", "confirmatory", "alternatives"), ("tests",)),
    **dict.fromkeys(("device", "devices", "needs"), ("devices",)),
    **{"specialty": ("specialties",), "tier": ("tiers",), "factor": ("factors",), "event": ("events",), "state": ("rule_facts",)},
    "shadows": ("drivers", "conditions", *_ITEMS),
}
_ENDINGS = ("_pct", "_days", "_weeks")  # units that stand in a field's name and beside its value
_NAMES = ("conditions", "drugs", "symptoms", "protocols", *_ITEMS)  # what the entry of a list may be called by


class Speaker:
    """How the rows of one knowledge are listed in one language."""

    def __init__(self, knowledge: Knowledge, language: Language) -> None:
        self.book = Book(knowledge, language)

    def field(self, name: str) -> str:
        """What a field is called; a field that has no label is called as it is written."""
        called = (name, *(name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)))
        labels = (f"{group}.{each}" for each in called for group in ("field", "column", "section"))
        label = next((label for label in labels if label in self.book.labels), "")
        return self.book.say(label) if label else name.replace("_", " ")

    def entry(self, name: str) -> str:
        """What a value is called: `effects.hba1c.5.t2d` by its list, the item, the dose and the population."""
        first, _, rest = name.partition(".")
        about, _, more = rest.partition(".")
        dose, _, population = more.rpartition(".")
        called = self.refer(about, _NAMES) if about and not about.isdecimal() else ""
        words = (
            self.book.word("class", called) if f"class.{called}" in self.book.labels else called,
            dose,
            self.book.word("population", population) if population else "",
        )
        return self.book.listed((self.field(first), *words))

    def line(self, name: str, value: str, unit: str) -> str:
        """A value as a line of the listing."""
        said = self.book.with_unit(value, unit) if unit in ("d", "wk", "%") else f"{value} {unit}".rstrip()
        return self.book.say("list.value", name=self.entry(name), value=said)

    def origin(self, source: str, status: str) -> str:
        """The last line of a row."""
        return self.book.say("list.origin", source=source, status=self.book.word("status", status))

    def names(self, kind: str, ids: tuple[str, ...]) -> str:
        """What some rows of a kind are called."""
        return self.book.listed(self.book.name(kind, name) for name in ids)

    def entries(self, texts: list[str]) -> str:
        """Entries of several words each, told apart."""
        return reduce(lambda first, second: self.book.say("list.pair", first=first, second=second), texts)

    def effect(self, effect: DrugEffect) -> str:
        """The mean of an effect with its unit and spread."""
        mean = self.book.measure(effect.mean, effect.unit, is_signed=True)
        return mean if effect.sd is None else self.book.say("list.spread", value=mean, sd=f"{effect.sd:g}")

    def refer(self, name: str, kinds: tuple[str, ...]) -> str:
        """The name of a row of one of some kinds; the id as it is where it is none of them."""
        kind = next((kind for kind in kinds if name in self.book.knowledge.table(kind)), None)
        return name if kind is None else self.book.name(kind, name)

    def value(self, row: Any, name: str, value: Any, within: Any = None) -> str:
        """A field of a row (or of an entry `within` a row) as a reader of the language has it."""
        if isinstance(value, Wording):
            return value.say(self.book.language)
        if isinstance(value, Wordings):
            return " | ".join(value.en if self.book.language == "en" else value.zh)
        if isinstance(value, PREDICATES):
            return self._predicate(value, within)
        if is_dataclass(value):
            return self.listed(value, within or row)
        if isinstance(value, tuple):
            parts = [self.value(row, name, part, within) for part in value]
            is_entry = is_dataclass(value[0]) and not isinstance(value[0], Wording)
            return self.entries(parts) if is_entry else self.book.listed(parts)
        if isinstance(value, bool):
            return self.book.word("flag", str(value).lower())
        if isinstance(value, str):
            return self._word(row, name, value, within)
        return self.book.measure(value, "d") if name.endswith("_days") and row is not within else f"{value:.10g}"

    def listed(self, entry: Any, within: Any, *, without: tuple[str, ...] = ()) -> str:
        """The filled fields of an entry, each after its name."""
        told = [(each.name, getattr(entry, each.name)) for each in fields(entry)]
        shown = [(name, value) for name, value in told if value not in (None, "", (), False) and name not in without]
        if len(shown) == 1:
            return self.value(entry, *shown[0], within)
        return self.book.listed(f"{self.field(name)} {self.value(entry, name, value, within)}" for name, value in shown)

    def _word(self, row: Any, name: str, word: str, within: Any) -> str:
        if isinstance(row, Rule) and name in ("then", "stage"):
            return self.book.rule_word(f"then.{within.kind}.{word}" if name == "then" else f"stage.{word}")
        if name == "state":
            return str(self.book.knowledge.rule_facts[word].phrases[0].say(self.book.language))
        if name in _REFERS:
            return self.refer(word, _REFERS[name])
        if isinstance(row, Stream):
            name = {"role": "stream_role"}.get(name, name)
        group = _KIND_WORDS.get(type(row).__name__, "") if name == "kind" else _GROUPS.get(name, name)
        return self.book.word(group, word) if f"{group}.{word}" in self.book.labels else word

    def _predicate(self, predicate: Any, within: Any) -> str:
        """A condition in one line: what stands under a heading is put in brackets."""
        about = within
        if isinstance(within, Drug):
            subject = Subject(drugs=(within.id,))
            about = Protocol("", "titration", within.names, within.clinical_review, subject, (), None, (), within.source, within.status)
        lines = render_predicate(predicate, about, self.book.knowledge, self.book.language).splitlines()
        return self._in_line([(len(line) - len(line.lstrip())) // len(INDENT) for line in lines], [line.strip()[2:] for line in lines])

    def _in_line(self, depths: list[int], texts: list[str]) -> str:
        parts: list[str] = []
        at = 0
        while at < len(texts):
            end = next((place for place in range(at + 1, len(texts)) if depths[place] <= depths[at]), len(texts))
            inner = self._in_line(depths[at + 1 : end], texts[at + 1 : end]) if end > at + 1 else ""
            parts.append(self.book.say("list.inside", text=texts[at], inner=inner) if inner else texts[at])
            at = end
        return self.entries(parts)
