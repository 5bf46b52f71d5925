"""Drug and protocol files broken in one place each, with the check that must find it."""

from break_rows import drug, protocol
from extra_rows import ZH

HBA1C = "item: hba1c, dose: 10, mean: -1, unit: pp"

# the check's function, the finding's name, what is broken, what the finding must name
BROKEN = [
    ("check_reviews", "review_is_shown", drug("clinical_review: none", "clinical_review: signed"), "none or pending"),
    (
        "check_sources",
        "source_exists",
        drug("item: hba1c, dose: 10, mean: -1, unit: pp, source: authored", "item: hba1c, dose: 10, mean: -1, unit: pp, source: nowhere"),
        "effects[0]",
    ),
    ("check_references", "id_resolves", drug("item: hba1c", "item: hba1x"), "drugs/sample.yaml, effects"),
    ("check_indications", "indication_exists", drug("{obesity: 20}", "{obesety: 20}"), "nearest: 'obesity'"),
    ("check_indications", "indication_exists", drug("{obesity: 20}", "{obesity: 15}"), "5, 10, 20"),
    ("check_indications", "indication_exists", drug("{obesity: 20}", "{}"), "no indication"),
    ("check_indications", "indication_exists", drug("ladder:", "off_label: [masld]\nladder:"), "off_label"),
    ("check_references", "id_resolves", drug("item: egfr, every", "item: egfrr, every"), "drugs/sample.yaml, monitoring"),
    ("check_references", "id_resolves", drug("symptom: nausea", "symptom: nausia"), "nearest: 'nausea'"),
    ("check_references", "id_resolves", drug("item: potassium", "item: potasium"), "nearest: 'potassium'"),
    ("check_references", "id_resolves", drug("condition: gout", "condition: goutt"), "nearest: 'gout'"),
    ("check_references", "id_resolves", drug("item: egfr, below", "item: egfrr, below"), "drugs/sample.yaml, contraindications"),
    ("check_references", "id_resolves", drug("drug: metformin", "drug: metformine"), "nearest: 'metformin'"),
    ("check_ladders", "ladder_rises", drug("[5, 10, 20]", "[5, 10, 10, 20]"), "ladder[2]"),
    ("check_ladders", "ladder_rises", drug("[5, 10, 20]", "[0, 10, 20]"), "0 after 0"),
    ("check_ladders", "ladder_rises", drug("[5, 10, 20]", "[]"), "at least one dose"),
    ("check_effects", "effect_is_usable", drug("dose: 10", "dose: 15"), "5, 10, 20"),
    ("check_effects", "effect_is_usable", drug("unit: pp", "unit: mmol/L"), "% or pp"),
    (
        "check_effects",
        "effect_is_usable",
        drug("effects:\n", "effects:\n  - {item: hba1c, dose: 10, mean: -2, unit: pp, source: authored, status: authored}\n"),
        "again",
    ),
    ("check_harms", "harm_is_whole", drug("moves: up, ", ""), "up or down for an item"),
    ("check_harms", "harm_is_whole", drug("symptom: nausea", "symptom: nausea, moves: up"), "nothing for a symptom"),
    ("check_harms", "harm_is_whole", drug("share_high: 0.15", "share_high: 0.05"), "at least 0.07"),
    ("check_harms", "harm_is_whole", drug("onset_days: [1, 14]", "onset_days: [14, 1]"), "at least 14"),
    ("check_harms", "harm_is_whole", drug("item: potassium, moves: up", "symptom: nausea"), "the same harm again"),
    ("check_contraindications", "contraindication_is_whole", drug("item: egfr, below: 30", "item: egfr"), "0 limits"),
    ("check_contraindications", "contraindication_is_whole", drug("condition: gout", "condition: gout, below: 3"), "1 limits"),
    ("check_contraindications", "contraindication_is_whole", drug("below: 30", "below: 3000"), "the bounds of egfr"),
    ("check_contraindications", "contraindication_is_whole", drug("state: is_pregnant", "state: is_pregnat"), "nearest: 'is_pregnant'"),
    ("check_monitoring", "monitoring_is_decidable", drug("fact: egfr", "fact: egfrr"), "nearest: 'egfr'"),
    ("check_interactions", "interaction_exists", drug("drug: metformin", "drug: sample"), "another drug"),
    ("check_interactions", "interaction_exists", drug("drug: metformin", "class: biguanid"), "nearest: 'biguanide'"),
    ("check_languages", "both_languages_native", drug("zh: " + ZH["grapefruit"], "zh: Grapefruit"), "interactions[1].substance"),
    ("check_protocols", "subject_exists", protocol("[potassium]", "[potasium]"), "nearest: 'potassium'"),
    ("check_protocols", "fact_resolves", protocol("fact: potassium", "fact: potasium"), "nearest: 'potassium'"),
    ("check_protocols", "threshold_in_domain", protocol("6.5", "65"), "what potassium can be"),
    ("check_effects", "effect_is_usable", drug(HBA1C, 'item: weight, dose: 10, mean: -400, unit: "%"'), "-60 to 60 % of body weight"),
    ("check_effects", "effect_is_usable", drug(HBA1C, "item: weight, dose: 10, mean: 120, unit: kg"), "-100 to 100 kg of body weight"),
    ("check_effects", "effect_is_usable", drug(HBA1C, 'item: ldl_c, dose: 10, mean: -100, unit: "%"'), "more than -100 %"),
    ("check_effects", "effect_is_usable", drug(HBA1C, "item: potassium, dose: 10, mean: 40, unit: mmol/L"), "from one bound of potassium"),
    ("check_classes", "class_is_spelt_as_others", drug("class: sample", "class: cholesterol absorbtion inhibitor"), "absorption"),
    ("check_classes", "class_is_spelt_as_others", drug("class: sample", "class: Statins"), "nearest: 'statin'"),
    ("check_dose_units", "unit_is_ucum", drug("dose_unit: mg", "dose_unit: milligram"), "'milligram'"),
    ("check_codes", "code_stands_for_one_thing", drug("ladder:", 'rxcui: "6809"\nladder:'), "drugs/metformin.yaml has it already"),
]
