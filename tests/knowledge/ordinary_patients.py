"""Ordinary patients of each titration protocol: nothing is wrong but what the grid says, and every fact the rules read is known."""

from collections.abc import Iterator
from itertools import product

from rule_book import KNOWLEDGE, PROTOCOLS, SHAPES

from clinworld.knowledge.rule_rows import FactValue, Protocol
from clinworld.knowledge.rules import facts_of

Patient = dict[str, FactValue]

FINE: Patient = {
    **{"potassium": 4.2, "sodium": 140.0, "calcium": 2.3, "egfr": 90.0, "egfr_fall": 0.0, "creatinine": 80.0, "creatinine_clearance": 90.0},
    **{"creatinine_rise_4wk": 0.0, "creatinine_rcv_pct": 15.0, "creatinine_check_day": 14.0, "alt_times_upper": 0.6, "ck_times_upper": 0.5},
    **{
        "beta_hydroxybutyrate": 0.1,
        "home_sbp": 128.0,
        "home_sbp_mean": 128.0,
        "home_dbp_mean": 76.0,
        "sbp_target": 135.0,
        "dbp_target": 85.0,
    },
    **{
        "standing_sbp_drop": 4.0,
        "standing_dbp_drop": 2.0,
        "resting_hr": 68.0,
        "resting_hr_rise": 0.0,
        "hr_target": 80.0,
        "body_temp": 36.6,
    },
    **{"hba1c": 7.6, "hba1c_target": 7.0, "hba1c_fall_12wk": 0.4, "lowest_glucose_7d": 5.2, "lowest_glucose_14d": 5.2, "smbg_fasting": 7.4},
    **{"low_glucose_count_14d": 0.0, "near_low_glucose_count_3d": 0.0, "lowest_glucose_after_dose": 5.4, "high_glucose_count_of_7": 1.0},
    **{"fasting_glucose_mean_3d": 6.4, "bedtime_to_morning_drop": 1.0, "insulin_units_per_kg": 0.3, "ldl_c": 2.6, "ldl_c_target": 1.8},
    **{
        "ldl_c_rise": 0.0,
        "ldl_c_rcv_pct": 20.0,
        "days_on_top_statin": 200.0,
        "triglycerides": 3.0,
        "uric_acid": 340.0,
        "haemoglobin": 135.0,
    },
    **{
        "haemoglobin_lower_limit": 120.0,
        "haemoglobin_rise": 5.0,
        "vitamin_b12": 300.0,
        "vitamin_d_25oh": 70.0,
        "bmi": 27.0,
        "weight": 74.0,
    },
    **{
        "inr": 2.4,
        "tsh": 2.0,
        "tsh_target_low": 0.4,
        "tsh_target_high": 4.0,
        "ft4": 16.0,
        "ft4_lower_limit": 12.0,
        "ft4_upper_limit": 22.0,
    },
    **{"ft4_times_upper": 0.7, "potassium_lower_limit": 3.5, "potassium_upper_limit": 5.3, "age_years": 52.0, "biotin_mg": 0.0},
    **{
        "hours_since_biotin": 400.0,
        "gut_symptom_onset_days": 400.0,
        "nausea_score": 0.0,
        "nausea_days_on_dose": 0.0,
        "vomiting_hours": 0.0,
    },
    **{"lipase_times_upper": 0.5, "consecutive_doses_missed": 0.0, "weekly_doses_missed_6wk": 0.0, "genital_infections_per_year": 0.0},
    **{"days_to_surgery": 365.0, "weight_gain_3d": 0.0, "weight_gain_14d": 0.0, "weight_below_dry": 0.0, "weight_loss_pct": 3.0},
    **{"mood_improvement": 30.0, "qtc_interval": 420.0, "cough_days": 0.0, "symptom_free_days": 10.0, "hours_since_ace_inhibitor": 400.0},
    **{"formulation": "extended_release", "given_for": "other", "breast_tenderness": "none", "treatment_response": "partial"},
    **{"days_on_drug": 400.0, "days_since_dose_change": 200.0, "days_covered_pct": 95.0, "dose": 1.0, "top_dose": 1.0},
}
TRUE_OF_THEM = {
    *("is_dose_tolerated", "are_doses_taken", "is_fasting_sample", "is_dose_per_label", "is_euvolaemic", "is_stable", "is_taken_by_mouth"),
    *("takes_top_statin_dose", "was_stable_before", "is_result_confirmed", "has_alternative_drug", "are_muscle_symptoms_tolerable"),
}

YES_NO = (False, True)
A1C = {"hba1c": (6.8, 7.0, 7.1, 8.5)}
PRESSURE = {"home_sbp_mean": (126.0, 135.0), "home_dbp_mean": (78.0, 92.0)}
DURATION = {"days_since_dose_change": (3.0, 30.0, 200.0), "days_covered_pct": (60.0, 95.0)}
GRID: dict[str, dict[str, tuple[FactValue, ...]]] = {
    "titrate_acei_arb": {**PRESSURE, "potassium": (4.99, 5.0, 5.6), "creatinine_check_day": (3.0, 14.0, 90.0)},
    "titrate_alpha_blocker": PRESSURE,
    "titrate_alpha_glucosidase_inhibitor": A1C,
    "titrate_anti_obesity_oral": {"weight_loss_pct": (2.0, 4.9, 5.0, 8.0)},
    "titrate_antidepressant": {
        **{"treatment_response": ("none", "partial", "full"), "mood_improvement": (5.0, 19.0, 20.0, 60.0), "age_years": (52.0, 70.0)},
    },
    "titrate_arni": {"home_sbp": (92.0, 99.0, 100.0, 120.0), "potassium": (4.4, 5.0, 5.2), "creatinine_rise_4wk": (0.0, 20.0)},
    "titrate_basal_insulin": {
        "fasting_glucose_mean_3d": (4.2, 4.4, 7.2, 7.3, 8.0, 10.0, 10.1, 14.0),
        **{"insulin_units_per_kg": (0.3, 0.5, 0.51), "bedtime_to_morning_drop": (1.0, 3.0), "hba1c": (6.8, 8.0)},
        **{"beta_hydroxybutyrate": (0.1, 1.5), "are_doses_taken": YES_NO},
    },
    "titrate_betablocker": {
        **{"resting_hr": (56.0, 74.0, 84.0, 112.0), "home_sbp": (96.0, 100.0, 128.0), "has_hfref": YES_NO, "is_euvolaemic": YES_NO},
        "has_atrial_fibrillation": YES_NO,
    },
    "titrate_ccb": {**PRESSURE, "has_new_ankle_oedema": YES_NO},
    "titrate_doac": {
        **{"given_for": ("atrial_fibrillation", "other"), "creatinine_clearance": (20.0, 40.0, 90.0), "is_kidney_function_better": YES_NO},
        "is_dose_per_label": YES_NO,
    },
    "titrate_dpp4i": {**A1C, "egfr": (20.0, 40.0, 90.0)},
    "titrate_ezetimibe_pcsk9": {"ldl_c": (1.4, 1.8, 2.6), "takes_top_statin_dose": YES_NO, "days_on_top_statin": (5.0, 200.0)},
    "titrate_fibrate": {"triglycerides": (2.0, 5.6, 5.7, 9.0), "egfr": (40.0, 60.0, 90.0), "is_fasting_sample": YES_NO},
    "titrate_glp1ra": {
        **{"given_for": ("glucose", "weight"), "hba1c": (6.8, 8.4), "weight_loss_pct": (2.0, 5.0, 9.0), "is_goal_met": YES_NO},
        "is_at_top_tolerated_dose": YES_NO,
    },
    "titrate_glucocorticoid_replacement": {"is_stable": YES_NO, "has_cushingoid_features": YES_NO},
    "titrate_levothyroxine": {
        **{"tsh": (0.05, 0.1, 0.39, 0.4, 4.0, 4.01, 6.0, 6.01, 10.0, 10.01, 30.0), "age_years": (40.0, 65.0, 70.0)},
        "is_result_confirmed": YES_NO,
    },
    "titrate_loop_diuretic": {
        "weight_gain_3d": (0.0, 2.0),
        "has_more_oedema": YES_NO,
        "creatinine_rise_4wk": (0.0, 30.0),
        "potassium": (3.2, 4.2),
    },
    "titrate_metformin": {**A1C, "egfr": (30.0, 40.0, 44.0, 45.0, 90.0)},
    "titrate_mra": {
        **{"potassium": (4.2, 4.81, 4.99, 5.0, 5.09, 5.1, 5.51), "egfr": (20.0, 40.0, 90.0)},
        **{"given_for": ("resistant_hypertension", "heart_failure", "heart_or_kidney"), "home_sbp_mean": (126.0, 152.0)},
    },
    "titrate_oral_iron": {
        "haemoglobin": (100.0, 119.0, 120.0),
        **{"days_on_drug": (5.0, 14.0, 27.0, 28.0, 200.0), "haemoglobin_rise": (0.0, 9.0, 10.0, 19.0, 20.0)},
    },
    "titrate_ppi": {
        **{"treatment_response": ("none", "partial", "full"), "symptom_free_days": (5.0, 55.0, 56.0), "has_erosive_oesophagitis": YES_NO},
        "needs_stomach_protection": YES_NO,
    },
    "titrate_prandial_insulin": {"high_glucose_count_of_7": (0.0, 2.0, 3.0, 7.0), "lowest_glucose_7d": (3.4, 5.0)},
    "titrate_sglt2i": {**A1C, "egfr": (15.0, 20.0, 44.0, 45.0, 59.0, 60.0, 90.0), "given_for": ("glucose", "heart_or_kidney")},
    "titrate_statin": {"ldl_c": (1.4, 1.8, 1.9, 4.0), "ldl_c_rise": (0.0, 40.0)},
    "titrate_sulfonylurea": {**A1C, "low_glucose_count_14d": (0.0, 1.0, 2.0), "egfr": (25.0, 90.0)},
    "titrate_thiazide": PRESSURE,
    "titrate_thionamide": {"ft4": (10.0, 16.0, 22.0, 22.1, 28.6, 33.0, 44.0), "is_ft4_falling": YES_NO, "tsh": (0.01, 0.4, 4.0, 4.01)},
    "titrate_tzd": A1C,
    "titrate_urate_lowering": {"uric_acid": (280.0, 300.0, 330.0, 360.0, 420.0), "has_tophi": YES_NO},
    "titrate_vitamin_supplement": {
        "vitamin_d_25oh": (30.0, 50.0),
        "vitamin_b12": (100.0, 148.0),
        "bmi": (27.0, 34.0),
        "is_taken_by_mouth": YES_NO,
    },
    "titrate_warfarin": {
        **{"inr": (1.2, 1.49, 1.5, 1.99, 2.0, 3.0, 3.01, 3.5, 3.51, 4.99, 5.0), "is_result_confirmed": YES_NO, "was_stable_before": YES_NO},
    },
}


def well_patient(protocol: Protocol) -> Patient:
    """Somebody on the first drug of a protocol, at its lowest step, in whom nothing is wrong."""
    read = dict.fromkeys(fact for rule in protocol.rules for fact in facts_of(rule.when))
    flags: Patient = {fact: fact in TRUE_OF_THEM for fact in read if SHAPES[fact].kind == "flag"}
    drug = protocol.subject.drugs[0]
    ladder = KNOWLEDGE.drugs[drug].ladder
    return {**flags, **{f: v for f, v in FINE.items() if f in read}, "drug": drug, "dose": ladder[0], "top_dose": ladder[-1]}


def ordinary_patients(protocol: Protocol) -> Iterator[Patient]:
    """Every patient of the grid: each drug at its lowest, a middle and its top step; values that no rule of the page reads are left out."""
    read = dict.fromkeys(fact for rule in protocol.rules for fact in facts_of(rule.when))
    fine = well_patient(protocol)
    grid = {fact: values for fact, values in {**DURATION, **GRID[protocol.id]}.items() if fact in read}
    for drug in protocol.subject.drugs:
        ladder = KNOWLEDGE.drugs[drug].ladder
        for dose in dict.fromkeys((ladder[0], ladder[len(ladder) // 2], ladder[-1])):
            for values in product(*grid.values()):
                patient: Patient = {**fine, **dict(zip(grid, values, strict=True))}
                patient |= {"drug": drug, "dose": dose, "top_dose": ladder[-1]}
                if "ft4_times_upper" in read:
                    patient["ft4_times_upper"] = round(float(str(patient["ft4"])) / 22.0, 1)
                yield patient


TITRATIONS = sorted(name for name, page in PROTOCOLS.items() if page.kind == "titration" and not page.subject.is_all)
