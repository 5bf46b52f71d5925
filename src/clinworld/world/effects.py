"""What a drug does to analytes and streams by dose, apart from what it does through weight.

A trial's total change holds both parts; the part through weight is taken off once, so that the two add up to the total again. An item
without an effect row of the drug does not respond to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Drug, DrugEffect
from clinworld.schema.course import Reals

DIABETES, WEIGHT, HBA1C = "type_2_diabetes", "weight", "hba1c"
_PER_HBA1C = "levels_per_hba1c_"  # then the item that follows what HbA1c follows
POPULATIONS = {True: "t2d", False: "obesity"}  # the trial population a patient is read from, by having diabetes


@dataclass(frozen=True, slots=True, eq=False)
class DrugTable:
    """Mean effects of one drug, as columns over `doses` (ascending, from 0): [item, dose].

    A total is `own + percent / 100 · base`, in the item's unit; the trial's weight change is `kg + percent / 100 · start weight`.
    `half_time_days` [item, 1] is how fast the drug's own effect builds up after a step: as its row says, nan where none does.
    """

    doses: Reals
    own: Reals
    percent: Reals
    weight_kg: Reals
    weight_percent: Reals
    half_time_days: Reals
    shrinks: Reals  # 1 where the effect was seen in more diabetes than the patient may have, and goes with the excess over normal [item, 1]


@lru_cache(maxsize=2048)
def load_drug_table(knowledge: Knowledge, drug_id: str, items: tuple[str, ...], has_diabetes: bool) -> DrugTable:
    """The effects of a drug on some items, in their order; zeros where the drug has none."""
    doses, weight = _list_doses(knowledge, drug_id), _load_effect(knowledge, drug_id, WEIGHT, has_diabetes)
    own, percent = np.zeros((len(items), len(doses))), np.zeros((len(items), len(doses)))
    half_time_days, shrinks = np.full((len(items), 1), np.nan), np.zeros((len(items), 1))
    responding = list_responding(knowledge, drug_id)
    for i, item in enumerate(items):
        if item in responding:
            own[i], percent[i], half_time_days[i], shrinks[i] = _load_effect(knowledge, drug_id, item, has_diabetes)
    return DrugTable(doses, own, percent, weight.own, weight.percent, half_time_days, shrinks)


class _Effect(NamedTuple):
    # A row of the table.
    own: Reals
    percent: Reals
    half_time_days: float
    shrinks: float


@lru_cache(maxsize=256)
def list_responding(knowledge: Knowledge, drug_id: str) -> tuple[str, ...]:
    """The analytes and then the streams that a drug has an effect on, in table order."""
    said = {effect.item for effect in knowledge.drugs[drug_id].effects}
    if HBA1C in said:
        said |= {name.removeprefix(_PER_HBA1C) for name in knowledge.parameters if name.startswith(_PER_HBA1C)}
    return tuple(name for name in (*knowledge.analytes, *knowledge.streams) if name in said)


@lru_cache(maxsize=16384)
def _load_effect(knowledge: Knowledge, drug_id: str, item: str, has_diabetes: bool) -> _Effect:
    drug, doses = knowledge.drugs[drug_id], _list_doses(knowledge, drug_id)
    rows, factor, name = _find_effects(drug, item, has_diabetes), 1.0, f"{_PER_HBA1C}{item}"
    if not rows and name in knowledge.parameters:  # glucose sensors follow what HbA1c follows
        rows, factor = _find_effects(drug, HBA1C, has_diabetes), knowledge.parameter(name)
    return _Effect(
        own=_by_dose(drug, rows, doses, False, knowledge) * factor,
        percent=_by_dose(drug, rows, doses, True, knowledge),
        half_time_days=next((each.half_time_days for each in rows if each.half_time_days), np.nan),
        shrinks=float(any(_is_of_diabetes(each, has_diabetes) for each in rows)),
    )


@lru_cache(maxsize=256)
def _list_doses(knowledge: Knowledge, drug_id: str) -> Reals:
    return np.array([0.0, *knowledge.drugs[drug_id].ladder])


def _is_of_diabetes(effect: DrugEffect, has_diabetes: bool) -> bool:
    # What lowers glucose was tried in people with diabetes, whatever a row says of others; what raises it does so in everybody.
    return effect.population == POPULATIONS[True] or (not has_diabetes and effect.population == "any" and effect.mean < 0)


def _find_effects(drug: Drug, item: str, has_diabetes: bool) -> Sequence[DrugEffect]:
    """The rows of the patient's population; those of any population when there are none."""
    rows = [effect for effect in drug.effects if effect.item == item]
    own = [effect for effect in rows if effect.population == POPULATIONS[has_diabetes]]
    return own or [effect for effect in rows if effect.population == "any"]


def _by_dose(drug: Drug, effects: Sequence[DrugEffect], doses: Reals, is_percent: bool, knowledge: Knowledge) -> Reals:
    """Mean effect at each dose: through the rows that name a dose, or the typical dose's by a shared dose curve."""
    # HbA1c, time in range and the like are measured in percent themselves; their effects are in points ("pp"), never "%".
    rows = [effect for effect in effects if (effect.unit == "%") == is_percent]
    named = sorted((effect.dose, effect.mean) for effect in rows if effect.dose is not None)
    if named:
        lowest = named[0][0]
        shares = _dose_curve(doses / lowest, knowledge)
        return np.where(doses < lowest, named[0][1] * shares, np.interp(doses, [d for d, _ in named], [mean for _, mean in named]))
    typical = drug.ladder[len(drug.ladder) // 2]
    return sum((effect.mean for effect in rows), 0.0) * _dose_curve(doses / typical, knowledge)


def _dose_curve(ratio: Reals, knowledge: Knowledge) -> Reals:
    """Share of the full effect at a multiple of the dose it was measured at."""
    half, double = knowledge.parameter("levels_half_dose_share"), knowledge.parameter("levels_double_dose_share")
    return np.interp(ratio, [0.0, 0.5, 1.0, 2.0], [0.0, half, 1.0, double])


def derive_direct_effects(table: DrugTable, base: Reals, coupling: Reals, start_kg: float, top_dose: float) -> tuple[Reals, Reals]:
    """(effects of the drug itself [item, dose], the share of `coupling` that holds on this drug [item, 1]).

    `base` and `coupling` (change per kg of weight) are columns. Where weight alone would do more than the trial's total, the coupling
    shrinks until it does just that, at `top_dose`, and the drug itself does nothing.
    """
    total = table.own + base * table.percent / 100.0
    through_weight = coupling * (table.weight_kg + start_kg * table.weight_percent / 100.0)
    at = min(int(table.doses.searchsorted(top_dose)), len(table.doses) - 1)
    whole, part = total[:, at : at + 1], through_weight[:, at : at + 1]
    whole_size, part_size = np.abs(whole), np.abs(part)
    is_less = (whole_size < part_size) & (whole * part > 0.0)
    share = np.divide(whole_size, part_size, out=np.ones_like(whole), where=is_less)
    return np.where((whole != 0.0) & ~is_less, total - through_weight, 0.0), share
