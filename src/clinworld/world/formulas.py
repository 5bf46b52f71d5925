"""What follows from other values: results a laboratory calculates, true levels that hang together, and derived streams.

Coefficients are parameter rows. A formula outside its domain gives nan, and then nothing is charted: no result is cut to fit.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte
from clinworld.schema.course import Reals
from clinworld.schema.premise import Patient

Calculate = Callable[[Mapping[str, Reals], float | Reals, str, Knowledge], Reals]


@dataclass(frozen=True, slots=True)
class Formula:
    """`inputs` are analyte ids, first the one the result is read for; `calculate` takes their values, the age in years (one, or by
    value), the sex and the knowledge.

    The result is nan where the formula is outside its domain; one that `is_fasting` holds for fasting specimens only.
    """

    inputs: tuple[str, ...]
    calculate: Calculate
    is_fasting: bool = False


def calculate_fib4(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Fibrosis-4 index from AST and ALT in U/L and platelets in 10*9/L; none for the young, in whom it says nothing."""
    index = age_years * values["ast"] / (values["platelets"] * np.sqrt(values["alt"]))
    return np.where(np.asarray(age_years) >= knowledge.parameter("fib4_least_age"), index, np.nan)


def calculate_apri(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """AST as a multiple of its upper reference limit, over platelets in 10*9/L, times 100."""
    row = knowledge.analytes["ast"]
    limit = row.ref_high_m if sex == "M" else row.ref_high_f
    return 100 * values["ast"] / (limit or np.nan) / values["platelets"]


def calculate_ldl(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """LDL cholesterol in mmol/L by Friedewald, by Sampson where triglycerides are above Friedewald's domain, by neither above Sampson's."""
    total, hdl, triglycerides = values["total_cholesterol"], values["hdl_c"], values["triglycerides"]
    friedewald = total - hdl - triglycerides / knowledge.parameter("friedewald_divisor")
    plain = triglycerides < knowledge.parameter("friedewald_most_triglycerides")
    if plain.all():
        return friedewald
    scale, tg, by = _conventional_lipids(triglycerides, knowledge)
    total, hdl = total * scale, hdl * scale
    remnant = tg / by["tg"] + tg * (total - hdl) / by["product"] - tg * tg / by["square"]
    sampson = (total / by["total"] - hdl / by["hdl"] - remnant - by["constant"]) / scale
    return np.where(plain, friedewald, np.where(tg <= knowledge.parameter("sampson_most_triglycerides"), sampson, np.nan))


def derive_total_cholesterol(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Total cholesterol in mmol/L of which `calculate_ldl` makes the LDL cholesterol again.

    Beyond Sampson's domain it rises on with triglycerides, which then carry cholesterol of their own.
    """
    ldl, hdl, triglycerides = values["ldl_c"], values["hdl_c"], values["triglycerides"]
    friedewald = ldl + hdl + triglycerides / knowledge.parameter("friedewald_divisor")
    plain = triglycerides < knowledge.parameter("friedewald_most_triglycerides")
    if plain.all():
        return friedewald
    scale, tg, by = _conventional_lipids(triglycerides, knowledge)
    above = np.maximum(tg - knowledge.parameter("sampson_most_triglycerides"), 0)
    tg = tg - above
    whole = ldl * scale + hdl * scale * (1 / by["hdl"] - tg / by["product"]) + tg / by["tg"] - tg * tg / by["square"] + by["constant"]
    sampson = whole / (1 / by["total"] - tg / by["product"]) + above * knowledge.parameter("chylomicron_cholesterol_share")
    return np.where(plain, friedewald, sampson / scale)


def _conventional_lipids(triglycerides: Reals, knowledge: Knowledge) -> tuple[float, Reals, dict[str, float]]:
    """(mg/dL per mmol/L of cholesterol, triglycerides in mg/dL, Sampson's coefficients)."""
    names = ("total", "hdl", "tg", "product", "square", "constant")
    by = {name: knowledge.parameter(f"sampson_{name}") for name in names}
    return knowledge.parameter("cholesterol_mg_dl_per_mmol"), triglycerides * knowledge.parameter("triglycerides_mg_dl_per_mmol"), by


def calculate_non_hdl(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Cholesterol outside HDL in mmol/L."""
    return values["total_cholesterol"] - values["hdl_c"]


def calculate_egfr(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Filtration rate in mL/min/1.73 m2 by CKD-EPI 2021, from creatinine in umol/L."""
    which = "m" if sex == "M" else "f"
    ratio = values["creatinine"] / knowledge.parameter("creatinine_umol_per_mg_dl") / knowledge.parameter(f"ckd_epi_2021_kappa_{which}")
    return _filtration(ratio, "ckd_epi_2021", f"alpha_{which}", age_years, sex, knowledge)


def calculate_egfr_cystatin(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Filtration rate in mL/min/1.73 m2 by CKD-EPI 2012, from cystatin C in mg/L."""
    ratio = values["cystatin_c"] / knowledge.parameter("ckd_epi_2012_kappa")
    return _filtration(ratio, "ckd_epi_2012", "alpha", age_years, sex, knowledge)


def _filtration(ratio: Reals, equation: str, alpha: str, age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    number = _load_filtration(knowledge, equation, alpha)
    low = np.exp(number.alpha * np.log(np.minimum(ratio, 1)))
    high = np.exp(number.beta * np.log(np.maximum(ratio, 1)))
    by_age = np.exp(age_years * number.log_per_year)
    return np.asarray(number.scale * low * high * by_age * (number.female if sex == "F" else 1))


class _Filtration(NamedTuple):
    # The coefficients of one equation.
    alpha: float
    beta: float
    log_per_year: Reals
    female: float
    scale: float


@lru_cache(maxsize=16)
def _load_filtration(knowledge: Knowledge, equation: str, alpha: str) -> _Filtration:
    names = (alpha, "beta", "per_year", "female", "scale")
    exponent, beta, per_year, female, scale = (knowledge.parameter(f"{equation}_{name}") for name in names)
    return _Filtration(exponent, beta, np.log(np.array([per_year])), female, scale)


def calculate_corrected_calcium(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Calcium in mmol/L at an albumin of 40 g/L; none where albumin is too far from it."""
    albumin = values["albumin"]
    in_domain = (albumin >= knowledge.parameter("corrected_calcium_least_albumin")) & (
        albumin <= knowledge.parameter("corrected_calcium_most_albumin")
    )
    corrected = values["calcium"] + knowledge.parameter("corrected_calcium_per_albumin") * (
        knowledge.parameter("corrected_calcium_albumin") - albumin
    )
    return np.where(in_domain, corrected, np.nan)


def calculate_anion_gap(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Sodium less chloride and bicarbonate, in mmol/L."""
    return values["sodium"] - values["chloride"] - values["bicarbonate"]


def calculate_effective_osmolality(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Twice sodium and glucose, in mmol/kg."""
    return 2 * values["sodium"] + values["random_glucose"]


def calculate_osmolality(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Twice sodium, glucose and urea, in mmol/kg."""
    return calculate_effective_osmolality(values, age_years, sex, knowledge) + values["urea"]


def calculate_corrected_sodium(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Sodium in mmol/L without what high glucose dilutes; none at a glucose that dilutes little."""
    glucose, usual = values["random_glucose"], knowledge.parameter("corrected_sodium_usual_glucose")
    corrected = values["sodium"] + knowledge.parameter("corrected_sodium_per_step") * (glucose - usual) / usual
    return np.where(glucose > knowledge.parameter("corrected_sodium_least_glucose"), corrected, np.nan)


def calculate_homa_ir(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """HOMA index of insulin resistance from fasting glucose in mmol/L and insulin in mIU/L."""
    return values["fasting_glucose"] * values["fasting_insulin"] / knowledge.parameter("homa_ir_divisor")


def calculate_homa_b(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """HOMA index of beta cell function in %; none at a glucose the model does not reach."""
    above = values["fasting_glucose"] - knowledge.parameter("homa_b_least_glucose")
    in_domain = above > 0
    return np.where(in_domain, knowledge.parameter("homa_b_factor") * values["fasting_insulin"] / np.where(in_domain, above, 1), np.nan)


def calculate_tyg(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Triglyceride-glucose index: the logarithm of half the product, both in mg/dL."""
    triglycerides = values["triglycerides"] * knowledge.parameter("triglycerides_mg_dl_per_mmol")
    return np.log(triglycerides * values["fasting_glucose"] * knowledge.parameter("glucose_mg_dl_per_mmol") / 2)


def calculate_estimated_glucose(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Mean glucose in mmol/L that goes with an HbA1c in %, by ADAG; none outside the HbA1c it was seen at."""
    hba1c = values["hba1c"]
    in_domain = (hba1c >= knowledge.parameter("adag_least_hba1c")) & (hba1c <= knowledge.parameter("adag_most_hba1c"))
    return np.where(in_domain, knowledge.parameter("adag_slope") * hba1c + knowledge.parameter("adag_constant"), np.nan)


def calculate_hba1c_ifcc(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """HbA1c in mmol/mol from NGSP %."""
    return knowledge.parameter("ifcc_slope") * values["hba1c"] + knowledge.parameter("ifcc_constant")


def calculate_transferrin_saturation(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Iron over total iron-binding capacity, in %."""
    return 100 * values["iron"] / values["tibc"]


def derive_transferrin(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Transferrin in g/L that binds a capacity in umol/L."""
    return values["tibc"] / knowledge.parameter("tibc_umol_per_g_transferrin")


def calculate_haematocrit(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Haematocrit in % from red cell count in 10*12/L and volume in fL, as a cell counter does."""
    return values["rbc"] * values["mcv"] / 10


def calculate_mch(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Haemoglobin of one red cell in pg."""
    return values["haemoglobin"] / values["rbc"]


def derive_red_cells(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Red cell count in 10*12/L that holds a haemoglobin in g/L in cells of a volume in fL.

    At the person's own cell haemoglobin where `values` holds it, else at the usual one.
    """
    usual = np.array(knowledge.parameter("cell_haemoglobin_mean"))
    return 1000 * values["haemoglobin"] / (values.get(CELL_HAEMOGLOBIN, usual) * values["mcv"])


CELL_HAEMOGLOBIN = "mchc"  # mean cell haemoglobin concentration in g/L, a constant of the person


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


def derive_walking_energy_line(patient: Patient, start_kg: float, knowledge: Knowledge) -> Line:
    """Active energy in kcal against steps: what moving this body takes."""
    return Line(0.0, knowledge.parameter("walking_kcal_per_kg_1000_steps") * start_kg / 1000)


LINES: Mapping[str, Callable[[Patient, float, Knowledge], Line]] = {
    "deurenberg": derive_body_fat_line,
    "walking_energy": derive_walking_energy_line,
}


def calculate_time_below_range(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Share of a day in % with glucose below the range, from the day's mean in mmol/L and CV in %."""
    return 100 * _share_below(values, knowledge.parameter("glucose_range_low"), knowledge)


def calculate_time_in_range(values: Mapping[str, Reals], age_years: float | Reals, sex: str, knowledge: Knowledge) -> Reals:
    """Share of a day in % with glucose in the range: what is left by the time below it, as printed, and by the time above it.

    Never more than whole percents of the day that the time below leaves, so that the two printed are no more than the day.
    """
    below = values["cgm_tbr"]
    return np.minimum(100 * _share_below(values, knowledge.parameter("glucose_range_high"), knowledge) - below, np.floor(100 - below))


def _share_below(values: Mapping[str, Reals], limit: float, knowledge: Knowledge) -> Reals:
    """Share of a day below a limit: glucose of a day is skewed alike at every mean and spread, a lognormal moved and stretched to these."""
    mean, sd = values["cgm_mean"], values["cgm_mean"] * values["cgm_cv"] / 100
    log_sd = knowledge.parameter("glucose_day_log_sd")
    sd_of_shape = math.sqrt(math.expm1(log_sd * log_sd))
    place = np.maximum(1 + sd_of_shape * (limit - mean) / sd, np.finfo(np.float64).tiny)
    return normal_share(np.log(place) / log_sd + log_sd / 2)


def normal_share(z: Reals) -> Reals:
    """Share of a standard normal below `z`, to 1.5e-7: Abramowitz and Stegun 7.1.26."""
    x = np.abs(z) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * x)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    beyond = series * np.exp(-x * x) / 2
    return np.where(z < 0, beyond, 1 - beyond)


# Streams that follow from the printed values of others on the same day, the first of them the parent.
DAILY: Mapping[str, Formula] = {
    "time_below_range": Formula(("cgm_mean", "cgm_cv"), calculate_time_below_range),
    "time_in_range": Formula(("cgm_mean", "cgm_cv", "cgm_tbr"), calculate_time_in_range),
}

_LIPIDS = ("total_cholesterol", "hdl_c", "triglycerides")
FORMULAS: Mapping[str, Formula] = {
    "fib4": Formula(("ast", "alt", "platelets"), calculate_fib4),
    "apri": Formula(("ast", "platelets"), calculate_apri),
    "friedewald_sampson": Formula(_LIPIDS, calculate_ldl),
    "non_hdl": Formula(("total_cholesterol", "hdl_c"), calculate_non_hdl),
    "ckd_epi_2021": Formula(("creatinine",), calculate_egfr),
    "ckd_epi_2012_cys": Formula(("cystatin_c",), calculate_egfr_cystatin),
    "corrected_calcium": Formula(("calcium", "albumin"), calculate_corrected_calcium),
    "anion_gap": Formula(("bicarbonate", "sodium", "chloride"), calculate_anion_gap),
    "effective_osmolality": Formula(("sodium", "random_glucose"), calculate_effective_osmolality),
    "total_osmolality": Formula(("sodium", "random_glucose", "urea"), calculate_osmolality),
    "corrected_sodium": Formula(("sodium", "random_glucose"), calculate_corrected_sodium),
    "homa_ir": Formula(("fasting_insulin", "fasting_glucose"), calculate_homa_ir, is_fasting=True),
    "homa_b": Formula(("fasting_insulin", "fasting_glucose"), calculate_homa_b, is_fasting=True),
    "tyg_index": Formula(("triglycerides", "fasting_glucose"), calculate_tyg, is_fasting=True),
    "nathan_eag": Formula(("hba1c",), calculate_estimated_glucose),
    "ifcc_ngsp": Formula(("hba1c",), calculate_hba1c_ifcc),
    "transferrin_sat": Formula(("iron", "tibc"), calculate_transferrin_saturation),
    "haematocrit": Formula(("rbc", "mcv"), calculate_haematocrit),
    "mch": Formula(("haemoglobin", "rbc"), calculate_mch),
}

# What is true of an analyte because of others in the same specimen; where their levels are known it has no level of its own.
FOLLOWS: Mapping[str, Formula] = {
    "total_cholesterol": Formula(("ldl_c", "hdl_c", "triglycerides"), derive_total_cholesterol),
    "rbc": Formula(("haemoglobin", "mcv"), derive_red_cells),
    "transferrin": Formula(("tibc",), derive_transferrin),
}

# A part is a share of its whole in the same specimen, so that it never passes it.
PARTS: Mapping[str, str] = {"neutrophils": "wbc", "bilirubin_direct": "bilirubin_total", "iron": "tibc"}

_FEEDS = frozenset(name for formula in FOLLOWS.values() for name in formula.inputs)


def formula_of(row: Analyte) -> Formula | None:
    """What gives an analyte from others where it has no level of its own; None where it has one."""
    return None if has_own_level(row) else FOLLOWS.get(row.id) or FORMULAS[row.derived_by]


def has_own_level(row: Analyte) -> bool:
    """True for an analyte whose true level is drawn and moved; LDL cholesterol is one, though a laboratory calculates it."""
    return row.id not in FOLLOWS and (not row.derived_by or row.id in _FEEDS)
