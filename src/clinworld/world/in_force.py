"""Every value in force in a case, in the words of the job file, with how it came to be: written, default, derived or drawn."""

from dataclasses import asdict
from typing import Any, NamedTuple

from clinworld.core.days import week_start
from clinworld.schema.job import Case
from clinworld.schema.premise import Premise
from clinworld.world.job_keys import load_job_keys

DERIVED = ("raw.nadir_weight", "latent.driver", "latent.reversal_week", "latent.nadir_day", "latent.adherence_low")
DRAWN = ("latent.outcome", "latent.drug_response")
DAYS_A_WEEK = week_start(1)


class InForce(NamedTuple):
    """One key of one case: its value (None: absent and without effect) and how it came to be."""

    key: str
    value: Any
    how: str


def list_in_force(case: Case, premise: Premise) -> list[InForce]:
    """The keys of `raw`, then of `latent`; writing them all into the case builds the same patient."""
    facts = asdict(case.facts)
    facts["baseline_vitals"] = dict(case.facts.baseline_vitals) or None
    controls = {name: value for name, value in asdict(case.controls).items() if name != "other"}
    controls["noise"] = [
        {"class": fault.kind, "week": fault.week, "day": fault.day, "span_days": fault.span_days} for fault in case.controls.noise
    ]
    acting = load_job_keys()["event_density"]
    controls["event_density"] = {name: value for name, value in controls["event_density"].items() if acting[name].effect == "yes"}
    controls |= {
        "outcome": premise.outcome,
        "driver": premise.driver,
        "nadir_day": premise.nadir_day,
        "adherence_low": premise.adherence_low,
        "drug_response": premise.drug_response,
        "reversal_week": None if premise.reversal_day is None else premise.reversal_day // DAYS_A_WEEK,
    }
    listed = [("raw." + name, value) for name, value in facts.items()] + [("latent." + name, value) for name, value in controls.items()]
    return [InForce(key, value, how_set(key, case)) for key, value in listed]


def how_set(key: str, case: Case) -> str:
    """written | derived | drawn | default."""
    if key in case.written:
        return "written"
    if key in DERIVED:
        return "derived"
    return "drawn" if key in DRAWN else "default"


def write_out(case: Case, premise: Premise) -> dict[str, Any]:
    """The case as a job file would hold it with every value written; keys without a value are left out."""
    sections: dict[str, dict[str, Any]] = {"raw": {}, "latent": {}}
    for key, value, _ in list_in_force(case, premise):
        section, name = key.split(".", 1)
        if value is not None and value != () and value != []:
            sections[section][name] = value
    return {"case_id": case.case_id, **sections}
