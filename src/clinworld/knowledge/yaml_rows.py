"""How a disease file and a drug file are read. Every mapping is closed: an unknown key is an error that names its line."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from clinworld.core.errors import KnowledgeError, allowed_values, nearest_match
from clinworld.core.tables import Document, Place, load_yaml, place_text
from clinworld.core.text import Wording
from clinworld.knowledge.cells import Cells
from clinworld.knowledge.csv_rows import AGE_MAX, SEXES
from clinworld.knowledge.rows import Condition, Drug, DrugEffect, Level, LookAlike

HERE = Path(__file__).parent
FREQUENCIES = get_args(Drug.__annotations__["frequency"])
POPULATIONS = ("any", "t2d", "obesity")

_DRUG = ("id", "names", "aliases", "rxcui", "class", "indications", "off_label", "ladder", "dose_unit", "frequency")
_DRUG_KEYS = (*_DRUG, "min_titration_days", "onset_days", "effects", "source", "status", "canary")
_EFFECT_KEYS = ("item", "dose", "mean", "sd", "unit", "population", "half_time_days", "source", "status")
_CONDITION = ("id", "names", "aliases", "icd10cm", "sex", "age_years", "is_primary", "has_physiology", "signals")
_CONDITION_KEYS = (*_CONDITION, "levels", "look_alikes", "source", "status")
_LEVEL_KEYS = ("item", "mean", "mean_m", "mean_f", "sd", "low", "high", "source", "status")
_LOOK_ALIKE_KEYS = ("condition", "discriminator", "text", "source", "status")


class _File:
    """One YAML knowledge file: closed mappings at each place, as cells."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.document: Document = load_yaml(path, error=KnowledgeError)

    def where(self, place: Place) -> str:
        line = self.document.lines.get(place, 1)
        name = f"{self.path.parent.name}/{self.path.name}" if self.path.parent.parent == HERE else str(self.path)
        return f"{name}, line {line}{f', {place_text(place)}' if place else ''}"

    def cells(self, value: Any, place: Place, keys: Iterable[str], optional: Iterable[str] = ()) -> Cells:
        known, may_lack = tuple(keys), tuple(optional)
        if not isinstance(value, dict):
            raise KnowledgeError(self.where(place), f"found {value!r}", "a mapping is expected; " + allowed_values(known, most=30))
        for key in value:
            if key not in known:
                raise KnowledgeError(
                    self.where((*place, key)), f"no key {key!r}", allowed_values(known, most=30), nearest=nearest_match(key, known)
                )
        for key in known:
            if key not in value and key not in may_lack:
                raise KnowledgeError(self.where(place), f"no key {key!r}", allowed_values(known, most=30), do="Add the key.")
        return Cells(value, self.where(place))

    def each(self, cells: Cells, key: str, place: Place) -> list[tuple[Any, Place]]:
        value = cells.values.get(key) or []
        if not isinstance(value, list):
            raise cells.fail(key, value, "a list is expected")
        return [(entry, (*place, key, index)) for index, entry in enumerate(value)]

    def wording(self, cells: Cells, key: str, place: Place) -> Wording:
        pair = self.cells(cells.values.get(key), (*place, key), ("en", "zh"))
        return Wording(pair.word("en"), pair.word("zh"))

    def id(self, cells: Cells) -> str:
        name = cells.id()
        if name != self.path.stem:
            raise cells.fail("id", name, f"the id is the file's name, {self.path.stem!r}")
        return name


def read_drug(path: Path) -> Drug:
    """The drug product in one file; the file's name is its id."""
    file = _File(path)
    cells = file.cells(file.document.value, (), _DRUG_KEYS, ("aliases", "off_label", "rxcui", "effects", "canary"))
    source, status = cells.origin()
    tops = cells.values["indications"]
    indications = file.cells(tops, ("indications",), tuple(tops) if isinstance(tops, dict) else ())
    ladder = file.each(cells, "ladder", ())
    steps = Cells({str(index): step for index, (step, _) in enumerate(ladder)}, file.where(("ladder",)))
    return Drug(
        id=file.id(cells),
        names=file.wording(cells, "names", ()),
        aliases=cells.words("aliases"),
        rxcui=cells.maybe_word("rxcui"),
        drug_class=cells.word("class"),
        indications=tuple((condition, indications.number(condition, 0)) for condition in indications.values),
        ladder=tuple(steps.number(step, 0) for step in steps.values),
        dose_unit=cells.word("dose_unit"),
        frequency=cells.choice("frequency", FREQUENCIES),  # type: ignore[arg-type]  # a choice of the Literal's own values
        min_titration_days=cells.whole("min_titration_days", 0, 365),
        onset_days=cells.whole("onset_days", 0, 365),
        effects=tuple(_read_effect(file, value, place) for value, place in file.each(cells, "effects", ())),
        source=source,
        status=status,
        off_label=cells.words("off_label"),
    )


def _read_effect(file: _File, value: Any, place: Place) -> DrugEffect:
    cells = file.cells(value, place, _EFFECT_KEYS, ("dose", "sd", "half_time_days", "population"))
    source, status = cells.origin()
    return DrugEffect(
        item=cells.id("item"),
        dose=cells.maybe_number("dose", 0),
        mean=cells.number("mean"),
        sd=cells.maybe_number("sd", 0),
        unit=cells.word("unit"),
        population=cells.choice("population", POPULATIONS) if "population" in cells.values else "any",
        half_time_days=cells.maybe_number("half_time_days", 0),
        source=source,
        status=status,
    )


def read_condition(path: Path) -> Condition:
    """The disease in one file; the file's name is its id."""
    file = _File(path)
    cells = file.cells(file.document.value, (), _CONDITION_KEYS, ("aliases", "sex", "age_years", "signals", "levels", "look_alikes"))
    source, status = cells.origin()
    age = cells.values.get("age_years")
    if age is not None and (not isinstance(age, list) or len(age) != 2):
        raise cells.fail("age_years", age, "a list of two ages is expected")
    ages = Cells({"low": age[0], "high": age[1]} if age else {}, file.where(("age_years",)))
    return Condition(
        id=file.id(cells),
        names=file.wording(cells, "names", ()),
        aliases=cells.words("aliases"),
        icd10cm=cells.word("icd10cm"),
        sex=cells.choice("sex", SEXES, empty=True),
        age_low=ages.maybe_whole("low", 0, AGE_MAX),
        age_high=ages.maybe_whole("high", 0, AGE_MAX),
        is_primary=cells.flag("is_primary"),
        has_physiology=cells.flag("has_physiology"),
        signals=cells.words("signals"),
        levels=tuple(_read_level(file, value, place) for value, place in file.each(cells, "levels", ())),
        look_alikes=tuple(_read_look_alike(file, value, place) for value, place in file.each(cells, "look_alikes", ())),
        source=source,
        status=status,
    )


def _read_level(file: _File, value: Any, place: Place) -> Level:
    cells = file.cells(value, place, _LEVEL_KEYS, ("mean_m", "mean_f"))
    numbers = (cells.number("mean"), cells.number("sd", 0), cells.number("low"), cells.number("high"))
    return Level(cells.id("item"), *numbers, *cells.origin(), cells.maybe_number("mean_m"), cells.maybe_number("mean_f"))


def _read_look_alike(file: _File, value: Any, place: Place) -> LookAlike:
    cells = file.cells(value, place, _LOOK_ALIKE_KEYS)
    wordings = (file.wording(cells, "discriminator", place), file.wording(cells, "text", place))
    return LookAlike(cells.id("condition"), *wordings, *cells.origin())
