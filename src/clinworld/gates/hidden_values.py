"""Numbers an agent may not learn, as they could be printed: the declared controls and the true weights after the last day shown."""

from decimal import Decimal
from functools import cached_property, lru_cache
from typing import NamedTuple

from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.printed_numbers import PrintedNumber, canonical_of, say_in_words
from clinworld.schema.premise import Premise

TRUTH_SCALE = 100
MOST_SHARE = 2  # a factor up to this is said as a percentage
LEAST_DIGITS = 2  # significant digits from which a form is no coincidence, with a decimal part or a percent sign


class Hidden(NamedTuple):
    """What a hidden number is called, and whether a form of it is unusual enough to be looked for where numbers are free."""

    name: str
    is_unusual: bool


class HiddenNumbers:
    """The hidden numbers of one case, found by reading. Exact forms of controls come before true weights."""

    def __init__(self, case: CaseUnderCheck) -> None:
        self._case = case
        self._forms: dict[str, Hidden] = {}
        for name, value in hidden_controls(case.gold.premise):
            for form in (*round_forms(value), *share_forms(value)):
                self._forms.setdefault(form, Hidden(name, is_unusual(form)))

    @cached_property
    def _later_weights(self) -> dict[int, int]:
        # True weights after the last day shown that need two decimals, in ticks → the first day they are true on.
        ticks, last = self._case.gold.truth_weight_ticks, self._case.item.record.last_day
        return {tick: day for day, tick in reversed(list(enumerate(ticks))) if day > last and tick % 10}

    def name(self, number: PrintedNumber) -> Hidden | None:
        """What a printed number would give away, or None."""
        for reading in number.readings:
            if reading in self._forms:
                return self._forms[reading]
            if is_hundredths(reading) and (day := self._later_weights.get(int(reading.replace(".", "")))) is not None:
                return Hidden(f"true weight on day {day}", True)
        return None

    def explain(self, number: PrintedNumber) -> str:
        """What a number would give away, in words; "" when nothing hidden is printed like it."""
        hidden = self.name(number)
        return f", which is {hidden.name}" if hidden else ""

    @cached_property
    def words(self) -> dict[str, str]:
        """Wordings of the hidden fractions → what they are."""
        found: dict[str, str] = {}
        for name, value in hidden_controls(self._case.gold.premise):
            form = canonical_of(value)
            for said in say_in_words(form) if is_unusual(form) else ():
                found.setdefault(said, name)
        return found

    def find_worded(self, text: str) -> list[tuple[str, str]]:
        """(wording, what it is) of every hidden number said in words."""
        folded = text.casefold()
        return [(said, name) for said, name in self.words.items() if said in folded]


@lru_cache(maxsize=2)
def hidden_numbers(case: CaseUnderCheck) -> HiddenNumbers:
    """The hidden numbers of a case; the gates that look for them share one."""
    return HiddenNumbers(case)


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
        *((f"size of {artifact.kind}", abs(artifact.size)) for artifact in premise.artifacts),
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
    """A fraction as a percentage, exact and rounded."""
    if not 0 < value <= MOST_SHARE or value == round(value):
        return ()
    return tuple(f"{form}%" for form in round_forms(round(100 * value, 6)))


def is_unusual(form: str) -> bool:
    """True for a form with a decimal part or a percent sign and at least two significant digits."""
    return ("." in form or form.endswith("%")) and significant(form) >= LEAST_DIGITS


def is_hundredths(form: str) -> bool:
    """True for a canonical form with exactly two decimals."""
    return form[-3:-2] == "." and not form.endswith("%")


def significant(form: str) -> int:
    """Significant digits of a canonical form."""
    return len(Decimal(form.rstrip("%")).normalize().as_tuple().digits)
