"""Rule knowledge for tests: the package's own, with a protocol or rule facts put in its place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clinworld.knowledge.cells import Cells
from clinworld.knowledge.load import load_knowledge
from clinworld.knowledge.rule_facts import known_facts
from clinworld.knowledge.rule_reader import read_predicate, read_protocol, read_rule_fact
from clinworld.knowledge.rule_rows import Predicate, Protocol, RuleFact

HERE = Path(__file__).parent
SAMPLE = (HERE / "sample_titration.yaml").read_text(encoding="utf-8")
KNOWLEDGE = load_knowledge()
PROTOCOLS = dict(KNOWLEDGE.protocols)
SHAPES = known_facts(KNOWLEDGE)


@dataclass(frozen=True)
class RuleBook:
    """The package's rows, with protocols and rule facts of a test's own."""

    protocols: Mapping[str, Protocol]
    rule_facts: Mapping[str, RuleFact] = field(default_factory=lambda: KNOWLEDGE.rule_facts)
    analytes: Mapping[str, Any] = field(default_factory=lambda: KNOWLEDGE.analytes)
    streams: Mapping[str, Any] = field(default_factory=lambda: KNOWLEDGE.streams)
    findings: Mapping[str, Any] = field(default_factory=lambda: KNOWLEDGE.findings)
    drugs: Mapping[str, Any] = field(default_factory=lambda: KNOWLEDGE.drugs)
    symptoms: Mapping[str, Any] = field(default_factory=lambda: KNOWLEDGE.symptoms)
    sources: Mapping[str, Any] = field(default_factory=lambda: KNOWLEDGE.sources)
    added: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)


def sample(folder: Path, *swaps: tuple[str, str]) -> Protocol:
    """The sample protocol, read from a file in `folder`, with parts of its text swapped, each once."""
    text = SAMPLE
    for old, new in swaps:
        assert old in text, old
        text = text.replace(old, new, 1)
    path = folder / "sample_titration.yaml"
    path.write_text(text, encoding="utf-8")
    return read_protocol(path)


def predicate(value: object) -> Predicate:
    """The predicate that a mapping writes."""
    return read_predicate(value, (), str)


def fact_row(**cells: str) -> RuleFact:
    """A sound row of a flag, with cells replaced."""
    zh = KNOWLEDGE.rule_facts["has_vomiting"]
    sound = {"id": "sample", "name_en": "Sample", "name_zh": zh.names.zh, "kind": "flag", "choices_en": "Yes|No"}
    sound |= {"choices_zh": "|".join(phrase.zh for phrase in zh.phrases), "source": "authored", "status": "authored"}
    return read_rule_fact(Cells({**sound, **cells}, "rule_facts.csv, line 9"))
