"""Published trials beside the world: every row of fidelity_arms.csv is simulated under its population, doses and length.

A row whose source also feeds a knowledge row only shows that escalation, adherence, kinetics and response spread do not bend the
input; replication is claimed from the other rows alone. Usage: python bench/fidelity.py [people per arm].
"""

import csv
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from common import HERE, print_table, save

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.schema.premise import Premise
from clinworld.world.job_case import default_case
from clinworld.world.job_file import find_job, read_job
from clinworld.world.level_course import derive_levels
from clinworld.world.level_motion import Treatment
from clinworld.world.natural_course import NaturalPeople, derive_natural_weight, find_own_share, mean_habits_pct
from clinworld.world.premise import derive_premise

PEOPLE = 2000
WEEK = 7
ADHERENCE = (0.9, 1.1)  # share of doses taken, as a multiple of the trial's mean, on which the effect rows rest
ARMS = HERE / "fidelity_arms.csv"


class Arm(NamedTuple):
    """One drug of a row: its id ("" for placebo) and the doses by day it was given."""

    drug: str
    doses: tuple[tuple[int, float], ...]


class Simulated(NamedTuple):
    """The mean of the row's outcome with its 95 % interval, and the share (%) at or below the row's limit."""

    mean: float
    low: float
    high: float
    share: float | None


def read_arms(row: dict[str, str]) -> list[Arm]:
    """The drugs of a row. Several drugs stand beside each other with one dose each; a single one has steps."""
    drugs = row["drug"].split("|")
    steps = [tuple((int(day), float(dose)) for day, dose in [step.split(":")]) for step in row["doses"].split("|") if step]
    if len(drugs) > 1:
        return [Arm(drug, step) for drug, step in zip(drugs, steps, strict=True)]
    return [Arm(drugs[0], tuple(step[0] for step in steps))]


def simulate(row: dict[str, str], arm: Arm, n: int, knowledge: Knowledge, rng: Rng) -> np.ndarray:
    """The change of the row's item in each of n people, in the row's unit."""
    days = WEEK * int(row["to_week"]) + 1
    first, last = WEEK * int(row["from_week"]), days - 1
    dose = np.zeros(days)
    for day, amount in arm.doses:
        dose[day:] = amount
    drawn = rng.at(row["id"], "people", arm.drug).normal(4 * n).reshape(4, n, 1)
    chance = rng.at(row["id"], "adherence", arm.drug).uniform(n).reshape(n, 1)
    start = np.maximum(float(row["weight_kg"]) + float(row["weight_sd_kg"]) * drawn[0], 50)
    adherence = ADHERENCE[0] + (ADHERENCE[1] - ADHERENCE[0]) * chance
    people = draw_people(row, arm, start, drawn, knowledge)
    drug = arm.drug or "metformin"  # on placebo no dose is ever in force
    has_diabetes = row["disease"] == "type_2_diabetes"
    taken = np.broadcast_to(adherence, (n, days))
    until = WEEK * int(row["support_until_week"]) if row["support_until_week"] else None

    def derive_weight(who: NaturalPeople) -> np.ndarray:
        return derive_natural_weight(who, drug, dose, taken, has_diabetes=has_diabetes, knowledge=knowledge, habits_until=until)

    weight = derive_weight(people)
    if row["lead_in_pct"]:
        people = scale_response(people, weight[:, first], float(row["lead_in_pct"]))
        weight = derive_weight(people)
    if row["item"] == "weight":
        change = weight[:, last] - weight[:, first]
        if row["unit"] == "%":
            change = 100 * change / weight[:, first]
        elif row["unit"] == "pp of start":
            change = 100 * change / weight[:, 0]
        return change
    treated = change_of_item(row, arm, dose, weight, adherence, drawn[3], knowledge, rng)
    if row["versus"] != "placebo":
        return treated
    habits = people._replace(response=np.zeros_like(people.response))
    return treated - change_of_item(row, arm, np.zeros(days), derive_weight(habits), adherence, drawn[3], knowledge, rng)


def draw_people(row: dict[str, str], arm: Arm, start: np.ndarray, drawn: np.ndarray, knowledge: Knowledge) -> NaturalPeople:
    """People whose weight change spreads as the row says, or as the drug's row does; the drug's share of the spread is its response."""
    has_diabetes = row["disease"] == "type_2_diabetes"
    mean, sd = mean_habits_pct(has_diabetes, knowledge), knowledge.parameter("natural_habits_sd_pct")
    habits = mean + sd * drawn[1]
    if not arm.drug:
        return NaturalPeople(start, habits, np.zeros_like(start))
    top = max(dose for _, dose in arm.doses)
    share = find_own_share(arm.drug, top, float(row["weight_kg"]), has_diabetes, knowledge)
    spread = np.sqrt(max(float(row["spread_pct"] or sd) ** 2 - sd**2, 0)) / 100
    return NaturalPeople(start, habits, 1 + (spread / abs(share) * drawn[2] if share else 0 * drawn[2]))


def scale_response(people: NaturalPeople, weight_then: np.ndarray, lead_in_pct: float) -> NaturalPeople:
    """The same people with responses scaled so that their mean loss at the start of the comparison is the published one."""
    change = 100 * (weight_then / people.start_kg[:, 0] - 1)
    habits = float(people.habits_pct.mean())
    return people._replace(response=people.response * (lead_in_pct - habits) / (float(change.mean()) - habits))


def change_of_item(
    row: dict[str, str],
    arm: Arm,
    dose: np.ndarray,
    weight: np.ndarray,
    adherence: np.ndarray,
    drawn: np.ndarray,
    knowledge: Knowledge,
    rng: Rng,
) -> np.ndarray:
    """True change of an analyte or stream between the row's weeks, each person from a first level drawn by the row."""
    first, last = WEEK * int(row["from_week"]), WEEK * int(row["to_week"])
    base = float(row["item_mean"]) + float(row["item_sd"]) * drawn[:, 0]
    changes = np.empty(len(base))
    template = make_premise(row, arm, len(dose) - 1, knowledge, rng)
    for i, level in enumerate(base):
        vitals = ((row["item"], float(level)),)
        premise = replace(
            template,
            case_id=f"{row['id']}-{i}",
            start_weight_kg=float(weight[i, 0]),
            patient=replace(template.patient, baseline_vitals=vitals, sex="F" if i < float(row["female_share"]) * len(base) else "M"),
        )
        levels = derive_levels(premise, Treatment(weight[i], dose, np.full(len(dose), adherence[i, 0])), knowledge, rng)
        truth = levels.get(row["item"], levels.get(f"shift:{row['item']}"))
        assert truth is not None, row["item"]
        changes[i] = 100 * (truth[last] / truth[first] - 1) if row["unit"] == "%" else truth[last] - truth[first]
    return changes


def make_premise(row: dict[str, str], arm: Arm, last_day: int, knowledge: Knowledge, rng: Rng) -> Premise:
    """A premise of the row's population; what it says of weight is not used."""
    case = default_case("template", knowledge)
    facts = replace(
        case.facts,
        disease=row["disease"],
        drug=arm.drug,
        dose_steps=tuple(dose for _, dose in arm.doses if dose) or (knowledge.drugs[arm.drug].ladder[0],),
        age_range=f"{row['age_low']}-{row['age_high']}",
        devices=("smart_scale", "lab_panel", "bp_cuff"),
        start_weight=float(row["weight_kg"]),
        nadir_weight=float(row["weight_kg"]) - 1,
    )
    premise = derive_premise(replace(case, facts=facts), read_job(find_job("example-ew"), knowledge), knowledge, rng)
    return replace(premise, course_end_day=last_day, drug_response=1.0)


def summarise(changes: np.ndarray, row: dict[str, str]) -> Simulated:
    """Mean, its 95 % interval, and the share at or below the row's limit."""
    mean, error = float(changes.mean()), 1.96 * float(changes.std()) / np.sqrt(len(changes))
    share = 100 * float((changes <= float(row["at_most_pct"])).mean()) if row["at_most_pct"] else None
    return Simulated(mean, mean - error, mean + error, share)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else PEOPLE
    knowledge, rng, rows = load_knowledge(), Rng("fidelity"), []
    counts = {"same source": [0, 0], "independent": [0, 0]}
    for row in csv.DictReader(line for line in Path(ARMS).read_text().splitlines() if not line.startswith("#")):
        changes = np.mean([simulate(row, arm, n, knowledge, rng) for arm in read_arms(row)], axis=0)
        found, published, tolerance = summarise(changes, row), float(row["published"]), float(row["tolerance"])
        kind = "same source" if row["feeds"] else "independent"
        is_inside = abs(found.mean - published) <= tolerance
        counts[kind][0] += is_inside
        counts[kind][1] += 1
        shares = f"{float(row['share_pct']):.1f} / {found.share:.1f}" if found.share is not None else ""
        interval = f"{found.low:.2f} to {found.high:.2f}"
        rows.append((row["id"], kind, published, round(found.mean, 2), interval, tolerance, "inside" if is_inside else "outside", shares))
    print_table(("trial row", "source", "published", "simulated", "95 % interval", "tolerance", "", "share published / simulated"), rows)
    print({kind: f"{inside} of {total}" for kind, (inside, total) in counts.items()})
    save("fidelity", {"people": n, "inside": counts, "trials": rows})


if __name__ == "__main__":
    main()
