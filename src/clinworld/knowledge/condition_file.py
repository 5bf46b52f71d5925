"""How a disease file is read; what the keys mean stands in `condition_rows.py`."""

from pathlib import Path
from typing import Any, get_args

from clinworld.core.text import Wording
from clinworld.knowledge.condition_rows import (
    Condition,
    ConditionFinding,
    ConditionSymptom,
    Level,
    LookAlike,
    OrderedTests,
    Presentation,
    Prevalence,
    RedFlag,
    Shown,
    ToldApart,
)
from clinworld.knowledge.shapes import (
    FLAG,
    ID,
    MAYBE_SEX,
    TEXT,
    WORD,
    WORDING,
    WORDS,
    Field,
    Shape,
    choice,
    maybe_number,
    number,
    options_of,
    sourced,
)
from clinworld.knowledge.source_rows import ClinicalReview
from clinworld.knowledge.yaml_rows import FILE_ID, TEXTS, YamlFile, age_ends, entries, entry

URGENCIES = ("emergency", "urgent", "soon", "routine")
_AGES, _MAYBE_AGES = age_ends(), age_ends(may_lack=True)

_SHOWN = choice(get_args(Shown))


def _make_red_flag(en: str, zh: str, **rest: Any) -> RedFlag:
    return RedFlag(Wording(en, zh), **rest)


_LEVEL = sourced(Level, item=WORD, mean=number(), mean_m=maybe_number(), mean_f=maybe_number(), sd=number(0), low=number(), high=number())
_PREVALENCE = sourced(Prevalence, sex=MAYBE_SEX, age_low=_AGES[0], age_high=_AGES[1], share=number(0, 1))
_SYMPTOM = Shape(ConditionSymptom, symptom=WORD, role=choice(options_of(ConditionSymptom, "role")))
_PRESENTATION = Shape(
    Presentation,
    id=ID,
    opens_with=WORD,
    then=WORDS,
    tempo=choice(options_of(Presentation, "tempo")),
    sex=MAYBE_SEX,
    age_low=_MAYBE_AGES[0],
    age_high=_MAYBE_AGES[1],
)
_FINDING = sourced(
    ConditionFinding,
    item=WORD,
    moves=choice(options_of(ConditionFinding, "moves")),
    size=choice(options_of(ConditionFinding, "size")),
    role=choice(options_of(ConditionFinding, "role")),
    trajectory=choice(options_of(ConditionFinding, "trajectory")),
    sex=MAYBE_SEX,
)
_TOLD_APART = Shape(ToldApart, one_of=("item", "symptom", "drug"), item=TEXT, symptom=TEXT, drug=TEXT, here=_SHOWN, there=_SHOWN)
_LOOK_ALIKE = sourced(LookAlike, condition=WORD, told_apart_by=entry(_TOLD_APART), discriminator=WORDING)
_TESTS = Shape(OrderedTests, first_line=WORDS, confirmatory=WORDS)
_RED_FLAG = Shape(
    _make_red_flag,
    en=WORD,
    zh=WORD,
    symptom=TEXT,
    item=TEXT,
    at_least=maybe_number(),
    above=maybe_number(),
    at_most=maybe_number(),
    below=maybe_number(),
)
_CONDITION = sourced(
    Condition,
    one_of=("findings", "all_normal"),
    id=FILE_ID,
    names=WORDING,
    aliases=WORDS,
    icd10cm=WORD,
    shares_code_with=WORDS,
    clinical_review=choice(get_args(ClinicalReview)),
    specialty=WORD,
    urgency=choice(URGENCIES),
    sex=MAYBE_SEX,
    age_low=_AGES[0],
    age_high=_AGES[1],
    is_primary=FLAG,
    has_physiology=FLAG,
    signals=WORDS,
    levels=entries(_LEVEL, may_lack=True),
    prevalence=entries(_PREVALENCE),
    symptoms=entries(_SYMPTOM),
    presentations=entries(_PRESENTATION),
    findings=entries(_FINDING, may_lack=True),
    all_normal=Field(lambda cells, column: column in cells.values and cells.flag(column), may_lack=True),
    look_alikes=entries(_LOOK_ALIKE),
    tests=entry(_TESTS),
    red_flags=entries(_RED_FLAG),
    traps=TEXTS,
)


def read_condition(path: Path) -> Condition:
    """The disease in one file; the file's name is its id."""
    return YamlFile(path).read(_CONDITION)
