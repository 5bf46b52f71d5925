"""Folders of added knowledge for tests: a sound row of each kind, with some of its cells replaced."""

import csv
from functools import lru_cache
from pathlib import Path

from clinworld.core.tables import load_csv
from clinworld.knowledge.check import check_knowledge
from clinworld.knowledge.csv_tables import TABLES
from clinworld.knowledge.faults import make_error
from clinworld.knowledge.load import FILE_KINDS, HERE, KINDS, Knowledge, load_knowledge

FOLDER = Path(__file__).parent
ZH = {row["id"]: row["zh"] for row in load_csv(FOLDER / "zh.csv", ("id", "zh"))}
ORIGIN = {"source": "authored", "status": "authored"}
NAMES = {"name_en": "Sample", "name_zh": ZH["name"]}

SOUND: dict[str, dict[str, str]] = {
    "sources": {"id": "sample", "citation": "A 2024", "what": "a number", "status": "recalled"},
    "analytes": {
        **{"id": "sample", **NAMES, "ucum": "mmol/L", "decimals": "1", "hard_low": "0.1", "hard_high": "20", "group": "lipids"},
        **{"device": "lab_panel", "clinician_reads": "true", "loinc": "10000-8", **ORIGIN},
    },
    "streams": {
        **{"id": "sample", **NAMES, "ucum": "%", "decimals": "0", "setting": "home", "devices": "wearable", "role": "wearable"},
        **{"scale": "linear", "mean_m": "50", "mean_f": "50", "per_year_over_40": "0", "per_bmi_over_25": "0"},
        **{"sd_between": "1", "sd_within": "1", "lag1": "0.2"},
        **{"saturday": "0", "sunday": "0", "monday": "0", "p_present": "1", "p_off_worn": "0.1", "p_off_off": "0.5"},
        **{"hard_low": "0", "hard_high": "100", "clinician_reads": "true", **ORIGIN},
    },
    "events": {
        **{"id": "sample", "kind": "life", "topic": "sample", "text_en": "Saw a film", "text_zh": ZH["film"], "weight": "1"},
        **{"is_exertional": "false", "shadows": "sleep_decline", **ORIGIN},
    },
    "past_events": {
        **{"id": "sample", "kind": "injury", "text_en": "Saw a film", "text_zh": ZH["film"], "weight": "1", **ORIGIN},
    },
    "artifacts": {
        **{"id": "sample", **NAMES, "explains_en": "A shift", "explains_zh": ZH["explains"], "size_low": "1", "size_high": "2"},
        **{"direction": "up", "unit": "kg", "needs": "smart_scale", "series": "weight", "turning_kind": "trap", **ORIGIN},
    },
    "devices": {"id": "sample", **NAMES, "reports": "weight|lipids", **ORIGIN},
    "drivers": {
        **{"id": "sample", **NAMES, "observed_in": "steps|dose", "evidence": "steps", "normal": "7000", "abnormal": "4000"},
        **{"lead_days": "21", "needs_symptom": "false", "through_drug": "false", **ORIGIN},
    },
    "contexts": {"id": "sample", "facet": "course", "text_en": "after lunch on Tuesday", "text_zh": ZH["lunch"], **ORIGIN},
    "outcomes": {
        **{"id": "sample", **NAMES, "min_change_frac": "0.05", "min_change_kg": "0.75", "persist_days": "56"},
        **{"smoothing_readings": "7", **ORIGIN},
    },
    "symptoms": {
        **{"id": "sample", "kind": "complaint", "system": "skin", **ORIGIN},
        "wordings_en": "My elbows feel cold|Both my elbows are chilly|There is a chill about my elbows|My elbows are like ice",
        "wordings_zh": "|".join(ZH[name] for name in ("say_one", "say_two", "say_three", "say_four")),
    },
    "symptom_shadows": {"id": "sample", "shadows": "sleep_decline|weight|acs", **ORIGIN},
    "symptom_complaints": {"id": "sample", "complaints": "abdominal_pain", **ORIGIN},
    "condition_states": {"id": "sample", "states": "has_cholestasis", **ORIGIN},
    "findings": {
        **{"id": "sample", **NAMES, "aliases": "sample sign", "kind": "exam", "positive_en": "Seen", "positive_zh": ZH["found"]},
        **{"negative_en": "Not seen", "negative_zh": ZH["not_found"], **ORIGIN},
    },
    "tests": {
        **{"id": "sample", **NAMES, "measures": "alt|weight", "tier": "basic_lab", "alternatives": "alt", "availability": "hospital"},
        **{"turnaround_days": "1", "specimen": "blood", "is_fasting": "false", **ORIGIN},
    },
    "tiers": {"id": "sample", **NAMES, "price": "3", **ORIGIN},
    "specialties": {"id": "sample", **NAMES, "aliases": "sample clinic", **ORIGIN},
    "comorbidities": {
        **{"id": "obesity__sample", "a": "obesity", "b": "sample", "relation": "shared_cause", "share_low": "0.1", "share_high": "0.2"},
        **ORIGIN,
    },
    "factors": {
        **{"id": "sample", "kind": "method", **NAMES, "recognise_en": "Normal when drawn again", "recognise_zh": ZH["recognise"]},
        **{"response_en": "Draw again", "response_zh": ZH["response"], **ORIGIN},
    },
    "factor_effects": {
        **{"id": "sample__alt", "factor": "sample", "item": "alt", "moves": "up", "low": "5", "high": "10", "unit": "%", **ORIGIN},
    },
    "rule_facts": {
        **{"id": "has_sample", **NAMES, "kind": "flag", "choices_en": "Sampled|Not sampled", **ORIGIN},
        "choices_zh": f"{ZH['found']}|{ZH['not_found']}",
    },
    "condition_labels": {"id": "sample", **NAMES, "aliases": "sample disease", "icd10cm": "Q99.9", **ORIGIN},
    "correlations": {
        **{"id": "sample", "a": "sodium", "b": "potassium", "level": "between", "of": "levels", "r_m": "0.1", "r_f": "0.1", **ORIGIN},
    },
    "event_effects": {
        **{"id": "sample__stress_score", "event": "sample", "item": "stress_score", "peak": "5", "unit": "own", "rise_days": "1"},
        **{"lasts_days": "2", "fade_days": "2", "cap": "15", **ORIGIN},
    },
    "couplings": {
        **{"id": "alt__sample", "cause": "alt", "effect": "sample", "slope": "0.1", "lag_days": "7", "cap": "20", **ORIGIN},
    },
    "platforms": {"id": "sample", **NAMES, "factor": "creatinine_method", "measures": "creatinine", **ORIGIN},
    "parameters": {"id": "sample", "value": "1", "unit": "1", "meaning": "a number", **ORIGIN},
}

NEEDS = {  # rows that a row names
    "symptom_shadows": "symptoms",
    "symptom_complaints": "symptoms",
    "condition_states": "condition_labels",
    "comorbidities": "condition_labels",
    "factor_effects": "factors",
    "event_effects": "events",
    "couplings": "analytes",
}

DRUG = (FOLDER / "sample_drug.yaml").read_text(encoding="utf-8")

CONDITION = (FOLDER / "sample_condition.yaml").read_text(encoding="utf-8")

PROTOCOL = (FOLDER / "sample_protocol.yaml").read_text(encoding="utf-8")

FILES = {"drugs": DRUG, "conditions": CONDITION, "protocols": PROTOCOL}


def add_row(folder: Path, kind: str, /, **cells: str) -> Path:
    """The folder with a sound row of a kind in it, `cells` replaced, and the row that it names."""
    if kind in NEEDS:
        add_row(folder, NEEDS[kind])
    shape = TABLES[kind]
    path = folder / shape.file if shape.file.endswith(".csv") else folder / shape.file / "sample.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    unknown = set(cells) - set(shape.columns)
    assert not unknown, unknown
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, shape.columns)
        writer.writeheader()
        writer.writerow({**SOUND[kind], **cells})
    return folder


def add_file(folder: Path, kind: str, text: str, swap: tuple[str, str] = ("", "")) -> Path:
    """The folder with a drug, disease or protocol file in it, one part of the text swapped."""
    assert swap[0] in text, swap
    path = folder / kind / "sample.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace(*swap, 1), encoding="utf-8")
    return folder


@lru_cache(maxsize=1)
def read_package() -> Knowledge:
    """The package's knowledge with every row parsed."""
    knowledge = load_knowledge()
    for kind in KINDS:
        list(knowledge.table(kind).values())
    return knowledge


def read_with(folder: Path) -> Knowledge:
    """The package's knowledge with the rows of a folder, unchecked; of the package's own only the tables that grow are parsed again."""
    knowledge, own = Knowledge((HERE, folder)), read_package()
    for kind in KINDS:
        if kind in FILE_KINDS:
            knowledge.table(kind)._rows.update(own.table(kind)._rows)
        elif kind not in knowledge.added:
            knowledge.__dict__[kind] = own.table(kind)
    return knowledge


def load_with(folder: Path) -> Knowledge:
    """As `load_knowledge`, without reading the package's own rows again."""
    knowledge = read_with(folder)
    for finding in check_knowledge(knowledge):
        raise make_error(finding, knowledge)
    return knowledge


def read_table(name: str) -> list[tuple[str, ...]]:
    """The rows of a CSV file of this folder below its header; cells keep their spaces."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]
