"""Which code stands for what in a cohort: a standard code where one quantity alone has it, else one of our own.

The code of a row follows from its id alone, so that no patient's rows depend on another's. What a code means is told once, in the codes
table of the cohort.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from clinworld.core.text import LANGUAGES, Labels, Wording, load_labels
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Stream

LABELS = Path(__file__).with_name("labels.csv")
OWN, LOINC, RXNORM = "CLINWORLD", "LOINC", "RXNORM"
DRUG, FINDING = "drug", "finding"  # what follows OWN in the codes of drugs and of test results that are no analyte
DAYS, MINUTES = "d", "min"
_UNITS = {"specimen/minute_of_day": MINUTES, "days_supplied": DAYS}
STREAM, ANALYTE, FACT = "stream", "analyte", "fact"


class Code(NamedTuple):
    """A code, the id and kind of knowledge row it stands for, its names, the unit of its values, and wider codes.

    `unit` is UCUM, "" where values have none or each row has its own (doses). `frequency` is how often a drug is taken, "" for others.
    `parents` are standard codes that several of our ids share.
    """

    code: str
    id: str
    kind: str
    names: Wording
    unit: str
    parents: tuple[str, ...]
    frequency: str


def drug_code(drug: str) -> str:
    """The code of a drug product.

    >>> drug_code("metformin")
    'CLINWORLD/drug/metformin'
    """
    return f"{OWN}/{DRUG}/{drug}"


def finding_code(finding: str) -> str:
    """The code of a test result that is no analyte.

    >>> finding_code("urine_ketones")
    'CLINWORLD/finding/urine_ketones'
    """
    return f"{OWN}/{FINDING}/{finding}"


@lru_cache(maxsize=8)
def code_by_id(knowledge: Knowledge) -> Mapping[str, str]:
    """The code of every stream and analyte. Of several ids with one standard code the first in table order has it."""
    codes: dict[str, str] = {}
    held = set[str]()
    rows: list[Stream | Analyte] = [*knowledge.streams.values(), *knowledge.analytes.values()]
    for row in rows:
        is_first = bool(row.loinc) and row.loinc not in held
        codes[row.id] = f"{LOINC}/{row.loinc}" if is_first else f"{OWN}/{row.id}"
        held.add(row.loinc)
    return MappingProxyType(codes)


def describe_codes(codes: Iterable[str], knowledge: Knowledge) -> list[Code]:
    """What each of some codes means, in the order of the codes; one that no knowledge row has is named by itself."""
    measured = {code: name for name, code in code_by_id(knowledge).items()}
    labels = load_labels(LABELS)
    return [_describe(code, measured, labels, knowledge) for code in sorted(set(codes))]


def _describe(code: str, measured: Mapping[str, str], labels: Labels, knowledge: Knowledge) -> Code:
    base, _, about = code.partition("//")
    if base in measured:
        name = measured[base]
        row: Stream | Analyte = knowledge.streams[name] if name in knowledge.streams else knowledge.analytes[name]
        kind = STREAM if isinstance(row, Stream) else ANALYTE
        parents = (f"{LOINC}/{row.loinc}",) if row.loinc and base.startswith(OWN) else ()
        told = Code(base, name, kind, row.names, row.ucum, parents, "")
    elif base.startswith(drug_code("")) and (name := base.removeprefix(drug_code(""))) in knowledge.drugs:
        drug = knowledge.drugs[name]
        parents = (f"{RXNORM}/{drug.rxcui}",) if drug.rxcui else ()
        told = Code(base, name, DRUG, drug.names, "", parents, drug.frequency)
    elif base.startswith(finding_code("")) and (name := base.removeprefix(finding_code(""))) in knowledge.findings:
        finding = knowledge.findings[name]
        told = Code(base, name, FINDING, finding.names, finding.ucum, (), "")
    else:
        name = base.removeprefix(f"{OWN}/")
        told = Code(base, name, FACT, _name_fact(name, labels), _UNITS.get(name, ""), (), "")
    if not about:
        return told
    more = _name_fact(about, labels)
    en, zh = (labels.say("about", language, name=told.names.say(language), more=more.say(language)) for language in LANGUAGES)
    return Code(code, f"{told.id}//{about}", told.kind, Wording(en, zh), _UNITS.get(about, ""), (base,), "")


def _name_fact(name: str, labels: Labels) -> Wording:
    """What a fact is called: by its label, or by its id where none is there."""
    return Wording(labels.say(name, "en"), labels.say(name, "zh")) if name in labels else Wording(name, name)
