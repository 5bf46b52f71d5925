"""What every reference page is made with: labels of page_labels.csv, links between pages, tables, and the sources a page names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, Protocol

from clinworld.core.text import Labels, Language, Wording, load_labels
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.markdown import escape, escape_heading
from clinworld.knowledge.places import place_of
from clinworld.knowledge.protocol_text import PHRASES, with_unit
from clinworld.knowledge.related import relate
from clinworld.knowledge.rows import Analyte, Condition, Drug, Stream
from clinworld.knowledge.rule_facts import known_facts
from clinworld.knowledge.rule_rows import Between, NumberTest, RuleFact
from clinworld.knowledge.rule_rows import Protocol as RuleProtocol

PAGE_KINDS = ("conditions", "drugs", "analytes", "streams", "tests", "events", "protocols")
_LABELS = Path(__file__).with_name("page_labels.csv")
_ITEM_KINDS = ("analytes", "streams", "findings", "tests", "rule_facts")  # where the item of an entry is looked for, in this order


class Sourced(Protocol):
    """Anything with a source and a status."""

    @property
    def source(self) -> str: ...
    @property
    def status(self) -> str: ...


@dataclass(frozen=True, eq=False)
class Book:
    """The pages of one knowledge in one language."""

    knowledge: Knowledge
    language: Language
    said: dict[tuple[str, str], str] = field(default_factory=dict)  # names asked for so far

    @cached_property
    def labels(self) -> Labels:
        """The wordings of the pages."""
        return load_labels(_LABELS)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Every disease, read once."""
        return tuple(self.knowledge.conditions.values())

    @cached_property
    def drugs(self) -> tuple[Drug, ...]:
        """Every drug, read once."""
        return tuple(self.knowledge.drugs.values())

    @cached_property
    def protocols(self) -> tuple[RuleProtocol, ...]:
        """Every protocol, read once."""
        return tuple(self.knowledge.protocols.values())

    @cached_property
    def related(self) -> Mapping[str, tuple[str, ...]]:
        """The protocols of each disease."""
        return relate(self.knowledge)

    @cached_property
    def facts(self) -> Mapping[str, RuleFact]:
        """Everything a limit may be set on."""
        return known_facts(self.knowledge)

    def say(self, label: str, **values: object) -> str:
        """A label's text."""
        return self.labels.say(label, self.language, **values)

    def word(self, group: str, word: str) -> str:
        """A word of a closed list, `word("urgency", "soon")`; a word that has no label is said as it is written."""
        label = f"{group}.{word}"
        return self.say(label) if label in self.labels else escape(word.replace("_", " "))

    def rule_word(self, label: str) -> str:
        """What a decision is called on the pages of protocols."""
        return load_labels(PHRASES).say(label, self.language)

    def name(self, kind: str, name: str) -> str:
        """What a row is called; a symptom by the first of its wordings."""
        if (kind, name) not in self.said:
            is_symptom = kind == "symptoms"
            row = self.knowledge.table(kind)[name]
            text = self.wordings(name)[0] if is_symptom else str((row.text if kind == "events" else row.names).say(self.language))
            self.said[kind, name] = self.say("page.quoted", text=text) if is_symptom else text
        return self.said[kind, name]

    def symptom(self, name: str) -> str:
        """A symptom by the first of its wordings, with its id."""
        return self.say("page.named_id", name=escape(self.name("symptoms", name)), id=code(name))

    def wordings(self, symptom: str) -> tuple[str, ...]:
        """A symptom in patients' words."""
        found = self.knowledge.symptoms[symptom].wordings
        return found.en if self.language == "en" else found.zh

    def link(self, kind: str, name: str) -> str:
        """A link to a row's page; its name alone where rows of the kind have none."""
        said = escape(self.name(kind, name))
        return f"[{said}](../{kind}/{name}.md)" if kind in PAGE_KINDS else said

    def item(self, name: str) -> str:
        """An analyte, stream or test linked to its page, a finding or fact by its name."""
        return next(self.link(kind, name) for kind in _ITEM_KINDS if name in self.knowledge.table(kind))

    def measure(self, value: float | None, ucum: str, *, is_signed: bool = False) -> str:
        """A number with its unit, "" for None."""
        if value is None:
            return ""
        return self.with_unit(f"{value:+.10g}" if is_signed and value else f"{value:.10g}", ucum)

    def with_unit(self, text: str, ucum: str) -> str:
        """A number, or a range of numbers, that is printed already, with its unit."""
        if f"unit.{ucum}" in self.labels:
            return self.say(f"unit.{ucum}", value=text)
        return with_unit(text, ucum, self.language) if ucum else text

    def unit_of(self, item: str) -> str:
        """The unit of an analyte, stream, finding or numeric fact, "" where it has none."""
        return self.facts[item].ucum if item in self.facts else ""

    def range(self, low: float | None, high: float | None, ucum: str = "") -> str:
        """`4 to 5.6 %`, `at least 4`, `at most 5.6`, or "" where neither limit is known."""
        if low is not None and high is not None:
            return self.with_unit(self.say("page.range", low=f"{low:.10g}", high=f"{high:.10g}"), ucum)
        if low is None and high is None:
            return ""
        label, value = ("limit.at_most", high) if low is None else ("limit.at_least", low)
        return self.say(label, value=self.measure(value, ucum))

    def ages(self, low: int | None, high: int | None) -> str:
        """An age range in years, "" for all ages."""
        return self.range(low, high, "a") if low is not None or high is not None else ""

    def share(self, low: float | None, high: float | None) -> str:
        """Fractions as percent, "not known" for None."""
        low, high = (None if each is None else 100 * each for each in (low, high))
        return (self.measure(low, "%") if low == high else self.range(low, high, "%")) or self.say("page.not_known")

    def limit(self, row: Any, ucum: str) -> str:
        """The one limit of a red flag or contraindication, "" where it sets none."""
        for name in ("at_least", "above", "at_most", "below"):
            if getattr(row, name) is not None:
                return self.say(f"limit.{name}", value=self.measure(getattr(row, name), ucum))
        return ""

    def test(self, test: NumberTest | Between, ucum: str) -> str:
        """A comparison with numbers, without what is compared."""
        limits = ((test.op, test.value),) if isinstance(test, NumberTest) else (("at_least", test.low), ("below", test.high))
        said = (self.say(f"limit.{op}", value=self.measure(value, ucum)) for op, value in limits if isinstance(value, float | int))
        return self.listed(said)

    def listed(self, texts: Iterable[str]) -> str:
        """Texts in a row, told apart; empty ones are left out."""
        return reduce(lambda first, second: self.say("page.pair", first=first, second=second), [text for text in texts if text] or [""])


@dataclass
class Page:
    """One page while it is written: its lines and the sources it has named so far."""

    book: Book
    kind: str
    name: str
    lines: list[str] = field(default_factory=list)
    cited: dict[str, int] = field(default_factory=dict)

    def cite(self, entry: Sourced) -> str:
        """`[2], recalled`: the number of the source in the list at the end of the page, and the status."""
        number = self.cited.setdefault(entry.source, len(self.cited) + 1)
        return self.book.say("page.cite", number=number, status=self.book.word("status", entry.status))

    def heading(self, label: str) -> None:
        """A section begins."""
        self.lines += [f"## {self.book.say(label)}", ""]

    def paragraph(self, text: str) -> None:
        """A paragraph."""
        self.lines += [text, ""]

    def bullets(self, label: str, texts: Iterable[str]) -> None:
        """A section that is a list; nothing where the list is empty."""
        found = [f"- {text}" for text in texts]
        if found:
            self.heading(label)
            self.lines += [*found, ""]

    def table(self, label: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
        """A section that is a table, without columns in which nothing stands; no section where there are no rows."""
        found = [tuple(cell.replace("\n", " ") for cell in row) for row in rows]
        if not found:
            return
        self.heading(label)
        self.rows(tuple(self.book.say(f"column.{column}") for column in columns), found)

    def rows(self, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        """A table alone."""
        filled = [place for place in range(len(heads)) if any(row[place] for row in rows)]
        self.lines += [_table_line(heads[place] for place in filled), _table_line("---" for _ in filled)]
        self.lines += [*(_table_line(row[place] for place in filled) for row in rows), ""]

    def facts(self, told: Iterable[tuple[str, str]]) -> None:
        """What a row says of itself, label and value; an empty value is left out."""
        rows = [(self.book.say(f"field.{label}"), text) for label, text in told if text]
        self.rows((self.book.say("column.field"), self.book.say("column.value")), rows)

    def text(self) -> str:
        """The whole page, with its sources and where its row stands."""
        if self.cited:
            self.heading("section.sources")
            self.lines += [*self._sources(), ""]
        is_added = self.name in self.book.knowledge.added.get(self.kind, {})
        place = place_of(self.book.knowledge, self.kind, self.name).replace("`", "'")
        footer = self.book.say("page.footer_added" if is_added else "page.footer", place=place)
        return "\n".join([*self.lines, "---", "", footer]) + "\n"

    def _sources(self) -> Iterator[str]:
        for source, number in self.cited.items():
            row = self.book.knowledge.sources[source]
            status = self.book.word("status", row.status)
            yield self.book.say("page.source", number=number, citation=escape(row.citation), what=escape(row.what), status=status)


def begin_page(book: Book, kind: str, name: str, names: Wording | None = None) -> Page:
    """A page with its title in the chosen language."""
    page = Page(book, kind, name)
    page.paragraph(f"# {escape_heading(names.say(book.language) if names else book.name(kind, name))}")
    return page


def other_name(book: Book, names: Wording) -> str:
    """A name in the language that is not the page's."""
    return escape(names.zh if book.language == "en" else names.en)


def diagnostic_limit(book: Book, row: Analyte | Stream) -> str:
    """From which value on which disease would be diagnosed, "" where no value does it."""
    if row.diagnostic_high is None:
        return ""
    limit = book.say("limit.at_least", value=book.measure(row.diagnostic_high, row.ucum))
    return book.listed((limit, book.link("conditions", row.diagnostic_of)))


def change_per_kg(book: Book, row: Analyte | Stream) -> str:
    """How far a kilogram of weight moves an item, "" where weight does not."""
    return "" if row.per_kg is None else book.with_unit(f"{row.per_kg:+.10g}", row.ucum)


def code(name: str) -> str:
    """An id, set apart from words: ids are the same in both languages."""
    return f"`{name}`"


def _table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
