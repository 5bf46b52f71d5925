"""Everything a rule may look at, in one shape: analytes, streams and findings by their own rows, and the rows of rule_facts.csv."""

import typing
from collections.abc import Mapping
from pathlib import Path

from clinworld.core.text import Wording
from clinworld.knowledge.rows import Analyte, Drug, Source, Stream
from clinworld.knowledge.rule_rows import FactKind, Protocol, RuleFact


class FindingRow(typing.Protocol):
    """A row of findings.csv as the rules see it. Without `ucum` it is positive or negative."""

    @property
    def id(self) -> str: ...
    @property
    def names(self) -> Wording: ...
    @property
    def ucum(self) -> str: ...
    @property
    def decimals(self) -> int | None: ...
    @property
    def hard_low(self) -> float | None: ...
    @property
    def hard_high(self) -> float | None: ...
    @property
    def positive(self) -> Wording | None: ...
    @property
    def negative(self) -> Wording | None: ...
    @property
    def source(self) -> str: ...
    @property
    def status(self) -> str: ...


class RuleKnowledge(typing.Protocol):
    """The part of Knowledge that rules are checked against and printed with."""

    @property
    def analytes(self) -> Mapping[str, Analyte]: ...
    @property
    def streams(self) -> Mapping[str, Stream]: ...
    @property
    def findings(self) -> Mapping[str, FindingRow]: ...
    @property
    def rule_facts(self) -> Mapping[str, RuleFact]: ...
    @property
    def protocols(self) -> Mapping[str, Protocol]: ...
    @property
    def drugs(self) -> Mapping[str, Drug]: ...
    @property
    def symptoms(self) -> Mapping[str, object]: ...
    @property
    def sources(self) -> Mapping[str, Source]: ...
    @property
    def added(self) -> Mapping[str, Mapping[str, Path]]: ...


def known_facts(knowledge: RuleKnowledge) -> dict[str, RuleFact]:
    """Every fact id a rule may name. A number's bounds are those of its row; a finding without unit is a flag, true when positive."""
    found = dict(knowledge.rule_facts)
    measured: tuple[Analyte | Stream, ...] = (*knowledge.analytes.values(), *knowledge.streams.values())
    for row in measured:
        found[row.id] = _number(row, row.decimals)
    for finding in knowledge.findings.values():
        if finding.ucum:
            found[finding.id] = _number(finding, finding.decimals or 0)
        elif finding.positive is not None and finding.negative is not None:
            phrases = (finding.positive, finding.negative)
            found[finding.id] = _fact(finding.id, finding.names, "flag", phrases, finding.source, finding.status)
    return found


def _number(row: Analyte | Stream | FindingRow, decimals: int) -> RuleFact:
    bounds = (row.hard_low, row.hard_high)
    return RuleFact(row.id, row.names, "number", row.ucum, decimals, *bounds, (), "", (), row.source, row.status)


def _fact(name: str, names: Wording, kind: FactKind, phrases: tuple[Wording, ...], source: str, status: str) -> RuleFact:
    return RuleFact(name, names, kind, "", 0, None, None, (), "", phrases, source, status)
