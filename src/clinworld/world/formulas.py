"""What is calculated from other printed values: laboratory results and derived streams. Coefficients are parameter rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Reals
from clinworld.schema.premise import Patient


@dataclass(frozen=True, slots=True)
class Formula:
    """`inputs` are analyte ids; `calculate` takes their printed values, the age in years (one, or by value), the sex and the knowledge.

    The result is nan where the formula is outside its domain.
    """

    inputs: tuple[str, ...]
    calculate: Callable[[Mapping[str, Reals], float | Reals, str, Knowledge], Reals]


def calculate_fib4(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Fibrosis-4 index from AST and ALT in U/L and platelets in 10*9/L."""
    return age_years * values["ast"] / (values["platelets"] * np.sqrt(values["alt"]))


def calculate_total_cholesterol(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Total cholesterol in mmol/L that Friedewald's equation turns into the printed LDL cholesterol."""
    in_domain = values["triglycerides"] < knowledge.parameter("friedewald_most_triglycerides")
    total = values["ldl_c"] + values["hdl_c"] + values["triglycerides"] / knowledge.parameter("friedewald_divisor")
    return np.where(in_domain, total, np.nan)


def calculate_non_hdl(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Cholesterol outside HDL in mmol/L."""
    return values["total_cholesterol"] - values["hdl_c"]


def calculate_egfr(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Filtration rate in mL/min/1.73 m2 by CKD-EPI 2021, from creatinine in umol/L."""
    which = "m" if sex == "M" else "f"
    ratio = values["creatinine"] / knowledge.parameter("creatinine_umol_per_mg_dl") / knowledge.parameter(f"ckd_epi_2021_kappa_{which}")
    low = np.exp(knowledge.parameter(f"ckd_epi_2021_alpha_{which}") * np.log(np.minimum(ratio, 1)))
    high = np.exp(knowledge.parameter("ckd_epi_2021_beta") * np.log(np.maximum(ratio, 1)))
    by_age = np.exp(age_years * np.log(np.array([knowledge.parameter("ckd_epi_2021_per_year")])))
    by_sex = knowledge.parameter("ckd_epi_2021_female") if sex == "F" else 1
    return np.asarray(knowledge.parameter("ckd_epi_2021_scale") * low * high * by_age * by_sex)


class Line(NamedTuple):
    """A derived stream against its parent, both in the unit of their rows."""

    intercept: float
    slope: float


def find_body_mass_index(patient: Patient, start_kg: float, knowledge: Knowledge) -> float:
    """Body mass index at the start in kg/m2: as stated, else at the mean height of the sex."""
    if patient.bmi is not None:
        return patient.bmi
    height = knowledge.parameter("draw_height_m_m" if patient.sex == "M" else "draw_height_f_m")
    return start_kg / (height * height)


def derive_body_fat_line(patient: Patient, start_kg: float, knowledge: Knowledge) -> Line:
    """Body fat in % against weight in kg by Deurenberg 1991: by body mass index, age and sex."""
    age = (patient.age_low + patient.age_high) / 2
    of_sex = knowledge.parameter("deurenberg_male") if patient.sex == "M" else 0
    intercept = knowledge.parameter("deurenberg_constant") + knowledge.parameter("deurenberg_per_year") * age + of_sex
    per_bmi = knowledge.parameter("deurenberg_per_bmi")
    return Line(intercept, per_bmi * find_body_mass_index(patient, start_kg, knowledge) / start_kg)


LINES: Mapping[str, Callable[[Patient, float, Knowledge], Line]] = {"deurenberg": derive_body_fat_line}

FORMULAS: Mapping[str, Formula] = {
    "fib4": Formula(("ast", "alt", "platelets"), calculate_fib4),
    "friedewald": Formula(("ldl_c", "hdl_c", "triglycerides"), calculate_total_cholesterol),
    "non_hdl": Formula(("total_cholesterol", "hdl_c"), calculate_non_hdl),
    "ckd_epi_2021": Formula(("creatinine",), calculate_egfr),
}
