"""The CSV tables of knowledge: file, columns and the reader of a row. A new column is added here, in `csv_rows.py` and in `rows.py`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clinworld.knowledge import csv_rows as read
from clinworld.knowledge.cells import Cells


@dataclass(frozen=True, slots=True)
class TableShape:
    """One CSV table: file name (a folder of files when it has no suffix), columns, and the reader of a row."""

    file: str
    columns: tuple[str, ...]
    read: Callable[[Cells], Any]


def _table(file: str, columns: str, reader: Callable[[Cells], Any]) -> TableShape:
    return TableShape(file, tuple(columns.split()), reader)


_ANALYTE = """id name_en name_zh aliases loinc ucum decimals ref_low_m ref_high_m ref_low_f ref_high_f cv_within_pct cv_between_pct
    cv_analytic_pct
    hard_low hard_high group per_kg half_time_days derived_by diagnostic_high diagnostic_of device clinician_reads source status"""
_STREAM = """id name_en name_zh aliases loinc ucum decimals setting devices role scale mean_m mean_f per_year_over_40
    per_bmi_over_25 sd_between sd_within lag1
    saturday sunday monday p_present p_off_worn p_off_off hard_low hard_high parent derived_by intercept_m intercept_f slope
    clinician_reads per_kg half_time_days diagnostic_high diagnostic_of source status"""
_EVENT = """id kind topic text_en text_zh context_en context_zh weight sex age_low age_high is_exertional axis shadows source status"""
_ARTIFACT = "id name_en name_zh explains_en explains_zh size unit needs series turning_kind source status"
_DRIVER = "id name_en name_zh observed_in evidence normal abnormal lead_days needs_symptom source status"
_OUTCOME = "id name_en name_zh min_change_frac min_change_kg persist_days smoothing_readings source status"
_LABEL = "id name_en name_zh aliases icd10cm sex age_low age_high source status"

TABLES: dict[str, TableShape] = {
    "sources": _table("sources.csv", "id citation what status", read.read_source),
    "analytes": _table("analytes.csv", _ANALYTE, read.read_analyte),
    "streams": _table("streams.csv", _STREAM, read.read_stream),
    "events": _table("events.csv", _EVENT, read.read_event),
    "artifacts": _table("artifacts.csv", _ARTIFACT, read.read_artifact),
    "devices": _table("devices.csv", "id name_en name_zh reports source status", read.read_device),
    "drivers": _table("drivers.csv", _DRIVER, read.read_driver),
    "contexts": _table("contexts.csv", "id facet text_en text_zh source status", read.read_context),
    "outcomes": _table("outcomes.csv", _OUTCOME, read.read_outcome),
    "condition_labels": _table("condition_labels.csv", _LABEL, read.read_condition_label),
    "parameters": _table("parameters", "id value unit meaning source status", read.read_parameter),
}
