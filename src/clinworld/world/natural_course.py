"""A weight nobody declared: it follows habits and the doses taken, as in a trial or in ordinary follow-up.

Loss approaches what the dose can do on the drug's own timescale; what comes back after a drug is stopped comes back more slowly.
Nothing here knows an outcome, an index day or a driver.
"""

from typing import NamedTuple

import numpy as np

from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Reals
from clinworld.world.effects import DrugTable, load_drug_table

DAYS_A_WEEK = 7


class NaturalPeople(NamedTuple):
    """People as columns [person, 1]: start weight, change through habits in percent, and multiple of the drug's mean effect."""

    start_kg: Reals
    habits_pct: Reals
    response: Reals


def derive_natural_weight(
    people: NaturalPeople,
    drug: str,
    dose: Reals,
    adherence: Reals,
    *,
    has_diabetes: bool,
    knowledge: Knowledge,
    habits_until: int | None = None,
) -> Reals:
    """True weight in kg [person, day] under the doses in force, [day], and the shares of them taken, [person or 1, day].

    The mean effect of a drug holds what people on placebo lose too, so that is taken off it once. `habits_until` is the day on which
    support of habits ends, None: it goes on; what habits changed then goes back as what a drug changed does.
    """
    table = load_drug_table(knowledge, drug, (), has_diabetes)
    weeks = dose[::DAYS_A_WEEK]
    target = people.response * _own_share(table, weeks, people.start_kg, has_diabetes, knowledge) * adherence[:, ::DAYS_A_WEEK]
    of_drug = _approach(target, _loss_half_time(drug, knowledge), knowledge.parameter("natural_return_half_time_days"))
    days = np.arange(len(dose))
    supported = days if habits_until is None else np.minimum(days, habits_until)
    habits = people.habits_pct / 100 * (1 - np.exp2(-supported / knowledge.parameter("natural_habits_half_time_days")))
    habits = habits * np.exp2((supported - days) / knowledge.parameter("natural_return_half_time_days"))
    week = days / DAYS_A_WEEK
    before = np.minimum(week.astype(np.int64), of_drug.shape[1] - 1)
    after = np.minimum(before + 1, of_drug.shape[1] - 1)
    daily = of_drug[:, before] + (week - before) * (of_drug[:, after] - of_drug[:, before])
    weight_kg: Reals = people.start_kg * (1 + habits + daily)
    return weight_kg


def find_own_share(drug: str, dose: float, start_kg: float, has_diabetes: bool, knowledge: Knowledge) -> float:
    """What a dose of a drug itself does to weight at its plateau on average, as a share of the start weight."""
    table = load_drug_table(knowledge, drug, (), has_diabetes)
    return float(_own_share(table, np.array([dose]), np.array([[start_kg]]), has_diabetes, knowledge)[0, 0])


def mean_habits_pct(has_diabetes: bool, knowledge: Knowledge) -> float:
    """Mean weight change in percent of people on placebo, which a trial's effect rows hold too."""
    return knowledge.parameter("natural_habits_diabetes_pct" if has_diabetes else "natural_habits_pct")


def _own_share(table: DrugTable, dose: Reals, start_kg: Reals, has_diabetes: bool, knowledge: Knowledge) -> Reals:
    """What the drug itself does to weight at its plateau, as a share of the start weight [person, week]; at most 0 where it lowers."""
    at = np.searchsorted(table.doses, dose)
    total = table.weight_percent[at] / 100 + table.weight_kg[at] / start_kg
    habits = mean_habits_pct(has_diabetes, knowledge) / 100
    own: Reals = np.where(total < 0, np.minimum(total - habits, 0), total)
    return own


def _loss_half_time(drug: str, knowledge: Knowledge) -> float:
    """Days: so many half-times lie between the last step of the ladder and the plateau."""
    row = knowledge.drugs[drug]
    ladder_weeks = (len(row.ladder) - 1) * row.min_titration_days / DAYS_A_WEEK
    plateau = max(knowledge.parameter("natural_plateau_weeks"), 2 * ladder_weeks)
    return (plateau - ladder_weeks) * DAYS_A_WEEK / knowledge.parameter("natural_plateau_half_times")


def _approach(target: Reals, fall_days: float, return_days: float) -> Reals:
    """What approaches a target week by week, from 0 on; away from 0 with one half-time and back towards it with another."""
    falls, returns = np.exp2(-DAYS_A_WEEK / fall_days), np.exp2(-DAYS_A_WEEK / return_days)
    level = np.zeros_like(target)
    for week in range(1, target.shape[1]):
        aim, here = target[:, week - 1], level[:, week - 1]
        left = np.where(np.abs(aim) < np.abs(here), returns, falls)
        level[:, week] = aim + left * (here - aim)
    return level
