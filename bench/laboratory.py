"""The laboratory beside its rows: variation recovered from printed values, relations between results, identities, faults.

Every number comes from printed results. Within-person and analytical variation: nested analysis of variance of duplicates in visits in
stable people. What is recovered there is what went in: it shows that drawing, measuring and printing bend nothing; no study is replicated.
A relation says by its basis whether its number went in, was chosen with the bounds in view, or follows.
Usage: python bench/laboratory.py [people].
"""

import csv
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from common import HERE, print_table, save

from clinworld.core.rng import Rng
from clinworld.core.units import to_ticks
from clinworld.knowledge.load import HERE as TABLES
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.schema.record import Series
from clinworld.world.course import build_course
from clinworld.world.draw import draw_cases
from clinworld.world.formulas import FORMULAS, find_body_mass_index, has_own_level
from clinworld.world.job_file import read_job
from clinworld.world.levels import draw_first_levels, load_followed
from clinworld.world.observe import observe_series
from clinworld.world.observe_labs import observe_laboratory
from clinworld.world.premise import derive_premise

PEOPLE = 600
VISITS, VISIT_DAYS = 16, 28
TOLERANCE_PCT = 10
THYROID = {"hypothyroidism", "hyperthyroidism", "graves"}
RELATION = ("id", "measure", "basis", "published", "found", "lower", "upper", "bounds", "n", "inside")
BOUNDS = HERE / "laboratory_relations.csv"


def every_group(knowledge: Knowledge) -> Knowledge:
    """Knowledge whose laboratory reports every group of analytes."""
    everything = Knowledge((TABLES, Path("every-group")))
    groups = tuple(dict.fromkeys(row.group for row in knowledge.analytes.values()))
    panel = replace(knowledge.devices["lab_panel"], reports=groups)
    everything.__dict__["devices"] = {**knowledge.devices, "lab_panel": panel}
    return everything


def draw_premises(n: int, seed: int, knowledge: Knowledge) -> list[Premise]:
    """Premises of drawn people, all with every device."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.job.yaml"
        path.write_text(f"job_id: people\ntask: early_warning\nseed: {seed}\nitems: {n}\n")
        job = read_job(path, knowledge)
    rng = Rng(job.seed)
    premises = [derive_premise(case, job, knowledge, rng) for case in draw_cases(job, knowledge, rng)]
    devices = tuple(knowledge.devices)
    return [replace(premise, patient=replace(premise.patient, devices=devices)) for premise in premises]


def stand_still(levels: Mapping[str, float], days: int) -> Course:
    """A course in which nothing moves."""
    flat = {name: np.full(days, value) for name, value in levels.items()}
    return Course(days - 1, np.full(days, 90.0), np.ones(days), np.ones(days), ((0, 1.0),), flat, {})


def usual_levels(sex: str, knowledge: Knowledge) -> dict[str, float]:
    """The middle of the reference interval of every analyte with a level of its own."""
    low, high = ("ref_low_m", "ref_high_m") if sex == "M" else ("ref_low_f", "ref_high_f")
    levels = {}
    for row in knowledge.analytes.values():
        if has_own_level(row):
            bottom, top = getattr(row, low), getattr(row, high)
            levels[row.id] = (bottom + top) / 2 if None not in (bottom, top) else (0.65 * top if top else 1.4 * bottom)
    return levels


def recover_variation(people: int, knowledge: Knowledge, rng: Rng) -> list[dict[str, Any]]:
    """CVs of every analyte with both, recovered from duplicates of printed results, beside its row."""
    days = np.arange(VISITS) * VISIT_DAYS
    premises = draw_premises(people, 1, knowledge)
    logs: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for premise in premises:
        still = stand_still(usual_levels(premise.patient.sex, knowledge), int(days[-1]) + 1)
        known = ("type_2_diabetes", *premise.patient.comorbidities)  # so that no first result is folded back
        premise = replace(premise, index_day=int(days[-1]), patient=replace(premise.patient, comorbidities=known))
        first, second = (observe_laboratory(premise, still, days, knowledge, rng, repeat=repeat).series for repeat in (0, 1))
        again = {series.name: series for series in second}
        for series in first:
            if series.name not in again:
                continue
            other = again[series.name]
            both = np.intersect1d(series.days, other.days)
            one, two = (each.values()[np.isin(each.days, both)] for each in (series, other))
            if len(both) and (one > 0).all() and (two > 0).all():
                logs.setdefault(series.name, []).append((np.log(one), np.log(two)))
    rows = []
    for name, pairs in logs.items():
        row = knowledge.analytes[name]
        if not row.cv_within_pct or not row.cv_analytic_pct:
            continue
        apart = np.concatenate([one - two for one, two in pairs])
        means = [(one + two) / 2 for one, two in pairs]
        step = 10.0**-row.decimals / float(np.exp(np.mean(np.concatenate(means))))
        # Printing rounds: Sheppard's correction takes a twelfth of the squared step off the error.
        rounding = step**2 / 12
        plain = float(np.mean(apart**2)) / 2
        error = max(plain - rounding, 0.0)
        between_visits = sum(float(((mean - mean.mean()) ** 2).sum()) for mean in means) / sum(len(mean) - 1 for mean in means)
        within = max(between_visits - (error + rounding) / 2, 0.0)
        rows.append(
            {
                "analyte": name,
                "kind": "calculated" if row.derived_by else "measured" if has_own_level(row) else "follows",
                "within_row": row.cv_within_pct,
                "within": as_cv(within),
                "analytic_row": row.cv_analytic_pct,
                "analytic": as_cv(error),
                "analytic_as_printed": as_cv(plain),
                "results": len(apart),
                "step_pct": 100 * step,
            }
        )
    return rows


def as_cv(log_variance: float) -> float:
    """A coefficient of variation in percent from a variance on the log scale."""
    return float(100 * np.sqrt(np.expm1(log_variance)))


def is_recovered(row: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether (within-person, analytical) variation lies within the tolerance of the row."""
    within, analytic = (100 * abs(row[name] / row[f"{name}_row"] - 1) <= TOLERANCE_PCT for name in ("within", "analytic"))
    return within, analytic


def is_recovered_as_printed(row: Mapping[str, Any]) -> bool:
    """The same where the error keeps what rounding adds to it."""
    return all(is_recovered({**row, "analytic": row["analytic_as_printed"]}))


def first_results(premise: Premise, knowledge: Knowledge, rng: Rng) -> dict[str, float]:
    """One printed result of every analyte of a person on day 0."""
    patient = premise.patient
    conditions, age = (patient.disease, *patient.comorbidities), (patient.age_low + patient.age_high) / 2
    first = load_followed(knowledge, conditions, patient.devices, premise.drug, patient.sex, age).first
    bmi = find_body_mass_index(patient, premise.start_weight_kg, knowledge)
    levels = draw_first_levels(premise.case_id, first, bmi, rng)[:, 0].tolist()
    course = stand_still(dict(zip(first.names, levels, strict=True)), 1)
    found = {series.name: float(series.values()[0]) for series in observe_laboratory(premise, course, np.array([0]), knowledge, rng).series}
    sensor = {name: level for name, level in zip(first.names, levels, strict=True) if name.startswith("cgm_mean")}
    told = {"bmi": bmi, "is_male": float(patient.sex == "M"), "has_diabetes": float("type_2_diabetes" in conditions)}
    return found | told | {"is_euthyroid": float(not THYROID.intersection(conditions))} | sensor


def correlate(people: Sequence[Mapping[str, float]], one: str, other: str, *, logs: Sequence[str] = ()) -> tuple[float, float, float, int]:
    """(r, slope of `other` on `one`, residual SD, n) over the people that have both."""
    both = [(person[one], person[other]) for person in people if one in person and other in person]
    x, y = np.array(both).T
    x, y = (np.log(x) if one in logs else x), (np.log(y) if other in logs else y)
    slope, constant = np.polyfit(x, y, 1)
    return float(np.corrcoef(x, y)[0, 1]), float(slope), float(np.std(y - slope * x - constant)), len(both)


def relate(people: Sequence[Mapping[str, float]], home: Mapping[str, float]) -> dict[str, tuple[float, int]]:
    """Every relation of the table of bounds, measured."""
    women, men = ([person for person in people if person["is_male"] == is_male] for is_male in (0.0, 1.0))
    diabetes, others = ([person for person in people if person["has_diabetes"] == has] for has in (1.0, 0.0))
    euthyroid = [person for person in people if person["is_euthyroid"]]

    def r(one: str, other: str, group: Sequence[Mapping[str, float]] = people, logs: Sequence[str] = ()) -> tuple[float, int]:
        found = correlate(group, one, other, logs=logs)
        return found[0], found[3]

    thyroid = correlate(euthyroid, "ft4", "tsh", logs=("tsh",))
    sensor, everybody = (correlate(group, "hba1c", "cgm_mean") for group in (diabetes, people))
    return {
        "tg_hdl_f": r("triglycerides", "hdl_c", women),
        "tg_hdl_m": r("triglycerides", "hdl_c", men),
        "alt_ast": r("alt", "ast"),
        "ldl_tc": r("ldl_c", "total_cholesterol"),
        "a1c_fpg": r("hba1c", "fasting_glucose", diabetes),
        "insulin_glucose": r("fasting_insulin", "fasting_glucose", others, logs=("fasting_insulin", "fasting_glucose")),
        "insulin_glucose_all": r("fasting_insulin", "fasting_glucose", logs=("fasting_insulin", "fasting_glucose")),
        "insulin_hdl": r("fasting_insulin", "hdl_c", logs=("fasting_insulin",)),
        "crp_bmi": r("hs_crp", "bmi", logs=("hs_crp",)),
        "ferritin_hb_f": r("ferritin", "haemoglobin", women),
        "ferritin_hb_m": r("ferritin", "haemoglobin", men),
        "na_cl": r("sodium", "chloride"),
        "sbp_dbp": (home["sbp_dbp"], int(home["n"])),
        "sbp_dbp_mean": (home["sbp_dbp_mean"], int(home["n"])),
        "tsh_ft4": (thyroid[0], thyroid[3]),
        "tsh_ft4_all": r("ft4", "tsh", logs=("tsh",)),
        "tsh_ft4_slope": (thyroid[1], thyroid[3]),
        "adag_slope": (sensor[1], sensor[3]),
        "adag_scatter": (sensor[2], sensor[3]),
        "adag_slope_all": (everybody[1], everybody[3]),
        "adag_scatter_all": (everybody[2], everybody[3]),
    }


def follow_pressure(premises: Sequence[Premise], knowledge: Knowledge, rng: Rng) -> dict[str, float]:
    """Home pressures: first systolic with first diastolic between people, and systolic from one month to the next within a person."""
    firsts, means, steps = [], [], []
    for premise in premises:
        observed = observe_series(premise, build_course(premise, knowledge, rng), knowledge, rng)
        by_name = {series.name: series for series in observed.series}
        if not {"home_sbp", "home_dbp"} <= by_name.keys():
            continue
        systolic, diastolic = by_name["home_sbp"], by_name["home_dbp"]
        firsts.append((systolic.values()[0], diastolic.values()[0]))
        means.append((systolic.values().mean(), diastolic.values().mean()))
        at = np.unique(np.searchsorted(systolic.days, np.arange(0, systolic.days[-1], VISIT_DAYS)))
        visits = systolic.values()[at[at < len(systolic.days)]]
        steps += list(zip(visits - visits.mean(), np.roll(visits - visits.mean(), -1), strict=True))[:-1]
    first, mean = (float(np.corrcoef(np.array(pairs).T)[0, 1]) for pairs in (firsts, means))
    now, later = np.array(steps).T
    visit_to_visit = float(np.corrcoef(now, later)[0, 1])
    return {"sbp_dbp": first, "sbp_dbp_mean": mean, "systolic_visit_to_visit": visit_to_visit, "n": len(firsts)}


def check_identities(premises: Sequence[Premise], knowledge: Knowledge, rng: Rng) -> dict[str, int]:
    """Calculated results that do not follow from the printed ones beside them, and how many there were."""
    wrong, seen = 0, 0
    for premise in premises:
        course = stand_still(usual_levels(premise.patient.sex, knowledge), 400)
        series = observe_laboratory(premise, course, np.arange(0, 400, 40), knowledge, rng, has_specimens=True).series
        by_name = {each.name: each for each in series}
        age = (premise.patient.age_low + premise.patient.age_high) / 2
        for each in series:
            row = knowledge.analytes[each.name]
            if row.derived_by:
                inputs = {name: _on_days(by_name[name], each) for name in FORMULAS[row.derived_by].inputs}
                wanted = FORMULAS[row.derived_by].calculate(inputs, age, premise.patient.sex, knowledge)
                wrong += int((to_ticks(wanted, row.decimals) != each.ticks).sum())
                seen += len(each.days)
    return {"calculated": seen, "wrong": wrong}


def _on_days(series: Series, other: Series) -> np.ndarray:
    return series.values()[np.searchsorted(series.days, other.days)]


def count_faults(premises: Sequence[Premise], knowledge: Knowledge, rng: Rng) -> tuple[int, int, Counter[str], Counter[str]]:
    """(specimens, people, specimens touched by each factor, comments) where specimens are asked for."""
    touched, comments, n = Counter[str](), Counter[str](), 0
    for premise in premises:
        course = stand_still(usual_levels(premise.patient.sex, knowledge), 400)
        observed = observe_laboratory(premise, course, np.arange(0, 400, 40), knowledge, rng, has_specimens=True)
        n += len(observed.specimens)
        days = {(fault.kind, day) for fault in observed.faults for day in fault.days}
        touched.update(kind for kind, _ in days)
        comments.update(specimen.comment for specimen in observed.specimens if specimen.comment)
    return n, len(premises), touched, comments


def main() -> None:
    people = int(sys.argv[1]) if len(sys.argv) > 1 else PEOPLE
    knowledge = every_group(load_knowledge())
    rng = Rng("laboratory")
    variation = sorted(recover_variation(people, knowledge, rng), key=lambda row: (row["kind"], row["analyte"]))
    table = []
    for row in variation:
        within, analytic = is_recovered(row)
        table.append(
            (
                row["analyte"],
                row["kind"],
                *(round(row[name], 2) for name in ("within_row", "within", "analytic_row", "analytic")),
                round(row["step_pct"], 2),
                "yes" if within and analytic else "no",
            )
        )
    print_table(("analyte", "kind", "within", "found", "analytic", "found", "step %", f"both within {TOLERANCE_PCT} %"), table)
    drawn = draw_premises(4 * people, 2, knowledge)
    persons = [first_results(premise, knowledge, rng) for premise in drawn]
    home = follow_pressure(drawn[:people], load_knowledge(), rng)
    found = relate(persons, home)
    with BOUNDS.open(encoding="utf-8") as file:
        bounds = list(csv.DictReader(line for line in file if not line.startswith("#")))
    relations = []
    for row in bounds:
        value, n = found[row["id"]]
        is_inside = (not row["lower"] or value >= float(row["lower"])) and (not row["upper"] or value <= float(row["upper"]))
        named = [row[name] for name in ("id", "measure", "basis", "published")]
        relations.append((*named, round(value, 3), row["lower"], row["upper"], row["bounds"], n, "yes" if is_inside else "no"))
    print()
    print_table(("relation", "", "basis", "published", "found", "from", "to", "bounds", "people", "inside"), relations)
    identities = check_identities(drawn[:100], knowledge, rng)
    n, _, touched, comments = count_faults(drawn[:people], knowledge, rng)
    faults = [(kind, count, round(100 * count / n, 2), comments[kind]) for kind, count in sorted(touched.items())]
    print()
    print_table(("factor", "specimens", "%", "remarked"), faults)
    measured = [row for row in variation if row["kind"] == "measured"]
    both = [row["analyte"] for row in measured if all(is_recovered(row))]
    missed = [row["analyte"] for row in variation if not all(is_recovered(row))]
    print(f"\n{len(both)} of {len(measured)} measured analytes have both variations within {TOLERANCE_PCT} %; missed: {', '.join(missed)}")
    as_printed = sum(is_recovered_as_printed(row) for row in measured)
    print(f"{as_printed} of them without taking the rounding of the print off the error (Sheppard)")
    print(
        f"systolic from one month to the next within a person: r {home['systolic_visit_to_visit']:.2f} (no published value in the tables)"
    )
    print(f"{identities['calculated']} calculated results, {identities['wrong']} do not follow from the printed ones")
    save(
        "laboratory",
        {
            "people": people,
            "variation": variation,
            "recovered": both,
            "recovered_without_sheppard": as_printed,
            "missed": missed,
            "relations": [dict(zip(RELATION, row, strict=True)) for row in relations],
            "systolic_visit_to_visit": home["systolic_visit_to_visit"],
            "identities": identities,
            "specimens": n,
            "faults": [dict(zip(("factor", "specimens", "pct", "remarked"), row, strict=True)) for row in faults],
        },
    )


if __name__ == "__main__":
    main()
