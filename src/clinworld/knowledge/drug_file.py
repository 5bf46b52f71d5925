"""How a drug file is read; what the keys mean stands in `drug_rows.py`."""

from pathlib import Path
from typing import get_args

from clinworld.knowledge.drug_rows import AdverseEffect, Contraindication, Drug, DrugEffect, Interaction, Monitoring
from clinworld.knowledge.lab_rows import Moves
from clinworld.knowledge.shapes import (
    MAYBE_WORDING,
    TEXT,
    WORD,
    WORDING,
    WORDS,
    Field,
    choice,
    maybe_choice,
    maybe_number,
    number,
    options_of,
    sourced,
    whole,
)
from clinworld.knowledge.source_rows import ClinicalReview
from clinworld.knowledge.yaml_rows import FILE_ID, YamlFile, ends, entries

POPULATIONS = ("any", "t2d", "obesity")
_ONSET = ends("onset_days", 36500, "days", may_lack=True)

_EFFECT = sourced(
    DrugEffect,
    item=WORD,
    dose=maybe_number(0),
    mean=number(),
    sd=maybe_number(0),
    unit=WORD,
    population=Field(lambda cells, column: cells.choice(column, POPULATIONS) if column in cells.values else "any", may_lack=True),
    half_time_days=maybe_number(0),
)
_MONITORING = sourced(
    Monitoring, item=WORD, every_days=whole(1, 3650), when=Field(lambda cells, column: cells.predicate(column), may_lack=True)
)
_ADVERSE_EFFECT = sourced(
    AdverseEffect,
    one_of=("symptom", "item"),
    symptom=TEXT,
    item=TEXT,
    moves=maybe_choice(get_args(Moves)),
    share_low=maybe_number(0, 1),
    share_high=maybe_number(0, 1),
    onset_low_days=_ONSET[0],
    onset_high_days=_ONSET[1],
)
_CONTRAINDICATION = sourced(
    Contraindication,
    one_of=("condition", "state", "item"),
    condition=TEXT,
    state=TEXT,
    item=TEXT,
    at_least=maybe_number(),
    above=maybe_number(),
    at_most=maybe_number(),
    below=maybe_number(),
    kind=choice(options_of(Contraindication, "kind")),
)
_INTERACTION = sourced(
    Interaction,
    one_of=("drug", "class", "substance"),
    drug=TEXT,
    drug_class=TEXT.at("class"),
    substance=MAYBE_WORDING,
    effect=WORDING,
    kind=choice(options_of(Interaction, "kind")),
)
_DRUG = sourced(
    Drug,
    also=("canary",),
    id=FILE_ID,
    names=WORDING,
    aliases=WORDS,
    rxcui=TEXT,
    clinical_review=choice(get_args(ClinicalReview)),
    drug_class=WORD.at("class"),
    class_is_new=Field(lambda cells, column: column in cells.values and cells.flag(column), may_lack=True),
    indications=Field(lambda cells, column: cells.number_of_each(column, 0)),
    off_label=WORDS,
    route=choice(options_of(Drug, "route")),
    authority=choice(options_of(Drug, "authority")),
    ladder=Field(lambda cells, column: cells.numbers(column, 0)),
    dose_unit=WORD,
    frequency=choice(options_of(Drug, "frequency")),
    most_a_day=maybe_number(0),
    min_titration_days=whole(0, 365),
    onset_days=whole(0, 365),
    steady_weeks=number(0, 520),
    effects=entries(_EFFECT, may_lack=True),
    monitoring=entries(_MONITORING),
    adverse_effects=entries(_ADVERSE_EFFECT),
    contraindications=entries(_CONTRAINDICATION),
    interactions=entries(_INTERACTION),
)


def read_drug(path: Path) -> Drug:
    """The drug product in one file; the file's name is its id."""
    return YamlFile(path).read(_DRUG)
