"""Numbers an agent may not learn, as they could be printed: the declared controls and the true weights after the last day shown."""

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.printed_numbers import PrintedNumber, canonical_of, say_in_words
from clinworld.schema.premise import Premise

TRUTH_SCALE = 100
LEAST_DIGITS = 2  # significant digits from which a form is no coincidence, with a decimal part or a percent sign


class Hidden(NamedTuple):
    """What a hidden number is called, and whether a form of it is unusual enough to be looked for where numbers are free."""

    name: str
    is_unusual: bool


def hidden_forms(case: CaseUnderCheck) -> dict[str, Hidden]:
    """Canonical reading → the hidden number it would give away. A later entry never replaces an earlier, more telling one."""
    forms: dict[str, Hidden] = {}
    for name, value in hidden_controls(case.gold.premise):
        for form in (*round_forms(value), *share_forms(value)):
            forms.setdefault(form, Hidden(name, is_unusual(form)))
    for day, tick in enumerate(case.gold.truth_weight_ticks):
        if day > case.item.record.last_day and tick % 10:
            forms.setdefault(canonical_of(tick / TRUTH_SCALE), Hidden(f"true weight on day {day}", True))
    return forms


def hidden_controls(premise: Premise) -> list[tuple[str, float]]:
    """The controls that decide the answer and its evidence, by name."""
    controls: list[tuple[str, float | None]] = [
        ("adherence_low", premise.adherence_low),
        ("drug_response", premise.drug_response),
        ("regain_slope", premise.regain_kg_per_week),
        ("regain_end_kg", premise.regain_end_kg),
        ("reversal day", premise.reversal_day),
        ("reversal_week", None if premise.reversal_day is None else premise.reversal_day / 7),
        ("nadir_day", premise.nadir_day),
        ("nadir_weight", premise.nadir_weight_kg),
        *((f"size of {artifact.kind}", artifact.size) for artifact in premise.artifacts),
        *((f"day of {artifact.kind}", artifact.first_day) for artifact in premise.artifacts),
    ]
    return [(name, float(value)) for name, value in controls if value is not None]


@lru_cache(maxsize=4096)
def round_forms(value: float) -> tuple[str, ...]:
    """A number as it is, and rounded to what still has three significant digits."""
    exact = canonical_of(value)
    rounded = [canonical_of(round(value, decimals)) for decimals in range(1, 7)]
    return tuple(dict.fromkeys([exact, *(form for form in rounded if significant(form) > LEAST_DIGITS)]))


@lru_cache(maxsize=4096)
def share_forms(value: float) -> tuple[str, ...]:
    """A fraction as a percentage."""
    return (canonical_of(round(100 * value, 6)) + "%",) if 0 < value <= 2 and value != round(value) else ()


def is_unusual(form: str) -> bool:
    """True for a form with a decimal part or a percent sign and at least two significant digits."""
    return ("." in form or form.endswith("%")) and significant(form) >= LEAST_DIGITS


def significant(form: str) -> int:
    """Significant digits of a canonical form."""
    return len(Decimal(form.rstrip("%")).normalize().as_tuple().digits)


def hidden_words(case: CaseUnderCheck) -> dict[str, str]:
    """Wordings of the hidden fractions → what they are."""
    found: dict[str, str] = {}
    for name, value in hidden_controls(case.gold.premise):
        form = canonical_of(value)
        for said in say_in_words(form) if is_unusual(form) else ():
            found.setdefault(said, name)
    return found


def explain(number: PrintedNumber, forms: dict[str, Hidden]) -> str:
    """What a number would give away, in words; "" when nothing hidden is printed like it."""
    return next((f", which is {forms[reading].name}" for reading in number.readings if reading in forms), "")


def find_worded(texts: Iterable[str], words: dict[str, str]) -> list[tuple[str, str]]:
    """(wording, what it is) of every hidden number said in words."""
    folded = "\n".join(texts).casefold()
    return [(said, name) for said, name in words.items() if said in folded]
