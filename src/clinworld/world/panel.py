"""The routine laboratory panel of the first visit, when a job switches `findings` on: normal results that say nothing of the answer.

The same analytes for everyone, none of a group that a condition follows: the panel's make-up tells no disease and it never prints a
second value of a charted series. Values are of the person whom any other test measures. Decides values and wording; `notes.py` gives the
lines their ids.
"""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clinworld.core.errors import KnowledgeError
from clinworld.core.rng import Rng
from clinworld.core.text import LANGUAGES, Wording, load_labels
from clinworld.core.units import print_tick, readable_unit, to_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte
from clinworld.schema.premise import Premise
from clinworld.world.condition_effects import push_levels
from clinworld.world.formulas import find_body_mass_index
from clinworld.world.levels import draw_first_levels, load_first_levels
from clinworld.world.monitoring import known_conditions, list_watched

LABELS = Path(__file__).with_name("panel_labels.csv")
VISIT_DAY = 0
PLACE = "panel_place_"


class PanelLine(NamedTuple):
    """One printed result: analyte id, day, and name, value, unit and reference interval in both languages."""

    analyte: str
    day: int
    text: Wording


def render_panel(premise: Premise, knowledge: Knowledge, rng: Rng) -> tuple[PanelLine, ...]:
    """The panel of the first visit, a line per analyte that no series charts.

    Inside the reference interval of the patient's sex unless a condition moves it.
    """
    is_male = premise.patient.sex == "M"
    charted = list_watched(knowledge, known_conditions(premise), premise.drug, premise.patient.devices)
    lines: list[PanelLine] = []
    levels = _draw_levels(premise, knowledge, rng)
    for row in panel_analytes(knowledge):
        low, high = (row.ref_low_m, row.ref_high_m) if is_male else (row.ref_low_f, row.ref_high_f)
        if low is None or high is None or row.id in charted:
            continue
        value = _draw_normal_value(row, levels[row.id], low, high, rng, premise.case_id)
        moved = push_levels({row.id: (np.full(premise.course_end_day + 1, value), False)}, premise, knowledge, rng).get(row.id)
        value = value if moved is None else float(moved[VISIT_DAY])
        lines.append(PanelLine(row.id, VISIT_DAY, _print_line(row, value, low, high)))
    return tuple(lines)


@lru_cache(maxsize=4)
def panel_analytes(knowledge: Knowledge) -> tuple[Analyte, ...]:
    """The analytes of the routine panel in printed order: those with a `panel_place_…` parameter.

    Raises KnowledgeError for one of a group that some condition follows.
    """
    places = {name.removeprefix(PLACE): row.value for name, row in knowledge.parameters.items() if name.startswith(PLACE)}
    followed = {row.group for row in knowledge.analytes.values() if row.id in knowledge.followed}
    for name in places:
        if knowledge.analytes[name].group in followed or knowledge.analytes[name].cv_between_pct is None:
            raise KnowledgeError(
                f"parameters, {PLACE}{name}",
                f"group {knowledge.analytes[name].group}",
                "a panel analyte has known variation and a group that no condition follows",
                do="Remove the row.",
            )
    return tuple(knowledge.analytes[name] for name in sorted(places, key=lambda name: (places[name], name)))


def _draw_levels(premise: Premise, knowledge: Knowledge, rng: Rng) -> dict[str, float]:
    """The person's own levels on the first visit, as every other test has them before a finding moves them."""
    patient, names = premise.patient, tuple(row.id for row in panel_analytes(knowledge))
    known, age_years = (patient.disease, *patient.comorbidities), (patient.age_low + patient.age_high) / 2
    first = load_first_levels(knowledge, known, names, patient.sex, age_years)
    bmi = find_body_mass_index(patient, premise.start_weight_kg, knowledge)
    return dict(zip(names, draw_first_levels(premise.case_id, first, bmi, rng)[:, 0].tolist(), strict=True))


def _draw_normal_value(row: Analyte, level: float, low: float, high: float, rng: Rng, case_id: str) -> float:
    # The person's level with this day's variation on the log scale; of a level inside the interval it is folded back at the limits.
    cv_today = float(np.hypot(row.cv_within_pct or 0.0, row.cv_analytic_pct or 0.0))
    centre, half = (np.log(low) + np.log(high)) / 2, (np.log(high) - np.log(low)) / 2
    place = (np.log(level) - centre + cv_today / 100 * rng.at(case_id, "panel", row.id).gauss()) / half
    if low <= level <= high:
        place = 1 - abs((place + 1) % 4 - 2)
    return float(np.exp(centre + half * place))


def _print_line(row: Analyte, value: float, low: float, high: float) -> Wording:
    labels = load_labels(LABELS)
    printed = [print_tick(int(to_ticks(number, row.decimals)), row.decimals) for number in (value, low, high)]
    words = dict(zip(("value", "low", "high"), printed, strict=True), unit=readable_unit(row.ucum))
    en, zh = (labels.say("panel_line", language, name=row.names.say(language), **words) for language in LANGUAGES)
    return Wording(en, zh)
