"""How a condition's effects come and go: a share of the full size by day, from onset, tempo and trajectory. Decides no size."""

from collections.abc import Sequence

import numpy as np

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Condition
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.weight import smooth_step

AREA = "conditions"
ACUTE = ("hours", "days", "weeks")
_LONG_AGO = -1000.0  # days; only where a swing stands on day 0 depends on it


def derive_ramps(
    wanted: Sequence[tuple[str, str, bool]], premise: Premise, knowledge: Knowledge, rng: Rng
) -> dict[tuple[str, str, bool], Reals]:
    """(condition, trajectory, whether documented) → share (0–1) of its full size on each day of the course."""
    persons = {name: rng.at(premise.case_id, AREA, name, "course").uniform(3).tolist() for name, _, _ in wanted}
    return {key: _derive_ramp(key, persons[key[0]], premise, knowledge) for key in wanted}


def _derive_ramp(key: tuple[str, str, bool], person: list[float], premise: Premise, knowledge: Knowledge) -> Reals:
    name, trajectory, is_documented = key
    number = knowledge.parameter
    days = np.arange(premise.course_end_day + 1, dtype=np.float64)
    if is_documented:
        ramp = np.ones_like(days)
        if trajectory == "treatment_responsive":
            ramp = ramp * number("effect.documented_share")
        tempo, anchor = "years", _LONG_AGO * person[0]
    else:
        assert premise.presenting is not None, name
        onset = premise.presenting.onset_day
        length = max(1.0, number(f"ramp.{trajectory}") * (premise.index_day - onset + 1))
        ramp = smooth_step((days - onset + 1) / length)
        tempo = tempo_of(knowledge.conditions[name], premise.presenting.presentation)
        anchor = float(premise.index_day)
    if trajectory == "fluctuating":
        period = number("ramp.fluctuation_days") * _spread_period(person[1], number("ramp.period_spread"))
        ramp = ramp * (1.0 - number("ramp.fluctuation") * (1.0 - smooth_step(_triangle((days - anchor) / period))))
    elif trajectory == "episodic" and tempo in ACUTE:
        hold, fade = (_number_of(name, f"ramp.acute_{part}_days", tempo, knowledge) for part in ("hold", "fade"))
        over = (days - premise.index_day - hold) / fade
        ramp = ramp * (1.0 - smooth_step(over))
    elif trajectory == "episodic":
        period = number("ramp.episode_days") * _spread_period(person[1], number("ramp.period_spread"))
        share, between = number("ramp.episode_share"), number("ramp.episode_between")
        pulse = smooth_step((_triangle((days - anchor) / period) - (1.0 - share)) * 2.0 / share)
        ramp = ramp * (between + (1.0 - between) * pulse)
    return ramp


def _number_of(condition: str, name: str, tempo: str, knowledge: Knowledge) -> float:
    """A condition's own number where it has one, else that of all of its tempo."""
    own = f"{name}.{condition}"
    return knowledge.parameter(own if own in knowledge.parameters else f"{name}.{tempo}")


def tempo_of(condition: Condition, presentation: str) -> str:
    """The tempo of one of a condition's presentations."""
    return next(each.tempo for each in condition.presentations if each.id == presentation)


def _spread_period(chance: float, spread: float) -> float:
    return 1.0 + spread * (2.0 * chance - 1.0)


def _triangle(turns: Reals) -> Reals:
    """1 at whole numbers of turns, 0 half way between, straight lines in between."""
    return np.asarray(np.abs(2.0 * (turns - np.floor(turns)) - 1.0))
