"""Charts of synthetic patients as rows of the record system: the package's own worlds, printed into resources, and a bulk filler.

The chart is drawn once per store; every address is a case id of its own, so one more patient moves no other. Day 0 of every course is
one calendar day, so charts read as one clinic's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from clinworld.core.digest import digest_value
from clinworld.core.rng import Rng
from clinworld.core.tables import load_csv
from clinworld.core.text import Language, load_labels
from clinworld.core.units import print_tick, readable_unit
from clinworld.knowledge.load import Knowledge
from clinworld.packs.emr_write.store.protocol import SeedRow
from clinworld.schema.job import Job
from clinworld.schema.record import Record
from clinworld.world.build import build_world
from clinworld.world.draw import draw_cases
from clinworld.world.premise import check_premise, derive_premise

HERE = Path(__file__).parent
DAY_ZERO = date(2024, 1, 8)
LOINC, RXNORM = "http://loinc.org", "http://www.nlm.nih.gov/research/umls/rxnorm"
_TIMING = {
    "daily": (1, 1, "d"),
    "twice_daily": (2, 1, "d"),
    "three_times_daily": (3, 1, "d"),
    "weekly": (1, 1, "wk"),
    "every_two_weeks": (1, 2, "wk"),
}
_ALLERGENS = ("none", "none", "latex", "peanut", "iodine")
_BULK_PER_PATIENT = 100


@dataclass(frozen=True, slots=True)
class Person:
    """Whose chart it is. `patient_id` is the key, `identifier` the record number a clinician reads."""

    patient_id: str
    identifier: str
    family: str
    given: str
    gender: str
    birth_date: str
    encounter_id: str

    @property
    def subject(self) -> dict[str, str]:
        """The reference other resources hold."""
        return {"reference": f"Patient/{self.patient_id}"}


def make_id(case_id: str, *path: str | int) -> str:
    """An opaque id for one row of one case."""
    return digest_value([case_id, *path], length=10)


@lru_cache(maxsize=8)
def load_names(kind: str, language: Language) -> tuple[str, ...]:
    """Names of names.csv whose id begins with a kind, in the table's order."""
    return tuple(row[language] for row in load_csv(HERE / "names.csv", ("id", "en", "zh")) if row["id"].startswith(f"{kind}_"))


def draw_person(rng: Rng, case_id: str, language: Language, *, sex: str | None = None, age_years: int | None = None) -> Person:
    """A name, a birth date and ids, drawn by the case's address."""
    series = rng.at(case_id, "person")
    sex = sex or series.pick(("F", "M"))
    families, givens = load_names("family", language), load_names(f"given_{sex}", language)
    years = age_years if age_years is not None else series.whole(30, 79, index=3)
    born = DAY_ZERO - timedelta(days=365 * years + series.whole(0, 364, index=4))
    return Person(
        patient_id=make_id(case_id, "patient"),
        identifier=f"MRN-{series.whole(1000000, 9999999, index=5)}",
        family=series.pick(families, index=1),
        given=series.pick(givens, index=2),
        gender={"F": "female", "M": "male"}[sex],
        birth_date=born.isoformat(),
        encounter_id=make_id(case_id, "encounter"),
    )


def person_rows(person: Person) -> list[SeedRow]:
    """The patient, an encounter in progress, and the row of the OpenEMR-shaped store."""
    patient = {
        "identifier": person.identifier,
        "family": person.family,
        "given": person.given,
        "birthDate": person.birth_date,
        "gender": person.gender,
        "active": True,
    }
    visit = {"patientId": person.patient_id, "subject": person.subject, "status": "in-progress", "class": {"code": "AMB"}}
    flat = {"pubpid": person.identifier, "fname": person.given, "lname": person.family, "DOB": person.birth_date, "sex": person.gender}
    return [
        SeedRow("Patient", person.patient_id, patient),
        SeedRow("Encounter", person.encounter_id, visit),
        SeedRow("patient_data", person.patient_id, flat),
    ]


def draw_chart(
    knowledge: Knowledge, *, seed: str | int, patients: int, language: Language
) -> tuple[tuple[Person, ...], tuple[SeedRow, ...]]:
    """People and all rows of their charts, from worlds of the package's own. Refused premises are left out and others drawn."""
    rng = Rng(seed)
    people: list[Person] = []
    rows: list[SeedRow] = []
    job = Job("emr_write", "early_warning", language, str(seed), (), None, 14, True, True, patients, (), (), "", "")
    for case in draw_cases(job, knowledge, rng):
        premise = derive_premise(case, job, knowledge, rng)
        if check_premise(premise, case, knowledge):
            continue
        _, chart = build_world(premise, knowledge, rng)
        person = draw_person(rng, case.case_id, language, sex=premise.patient.sex, age_years=premise.patient.age_low)
        people.append(person)
        rows += person_rows(person)
        rows += _record_rows(chart.record, person, case.case_id, knowledge, rng, language)
    return tuple(people), tuple(rows)


def draw_bulk(*, seed: str | int, rows: int) -> tuple[SeedRow, ...]:
    """At least so many rows of patients nobody asks about: one row a patient, and a hundred results each."""
    rng = Rng(seed)
    filler: list[SeedRow] = []
    patients = -(-rows // (_BULK_PER_PATIENT + 1))
    for i in range(patients):
        case_id = f"bulk-{i}"
        patient_id = make_id(case_id, "patient")
        filler.append(SeedRow("Patient", patient_id, {"identifier": f"MRN-B{i:06d}", "active": True}))
        values = rng.at(case_id, "values").words(_BULK_PER_PATIENT)
        for j, word in enumerate(values.tolist()):
            fields = {
                "patientId": patient_id,
                "subject": {"reference": f"Patient/{patient_id}"},
                "status": "final",
                "code": {"coding": [{"system": LOINC, "code": "8867-4"}]},
                "effectiveDateTime": f"{DAY_ZERO + timedelta(days=j)}T07:30:00Z",
                "valueQuantity": {"value": 50 + word % 60, "unit": "/min"},
            }
            filler.append(SeedRow("Observation", make_id(case_id, j), fields))
    return tuple(filler)


def _record_rows(record: Record, person: Person, case_id: str, knowledge: Knowledge, rng: Rng, language: Language) -> Iterator[SeedRow]:
    texts = load_labels(HERE / "chart_texts.csv")
    whose: dict[str, Any] = {"patientId": person.patient_id, "subject": person.subject}
    for series in record.series:
        if series.setting != "laboratory":
            continue
        analyte = knowledge.analytes[series.name]
        code = {"coding": [{"system": LOINC, "code": analyte.loinc}], "text": analyte.names.say(language)}
        for day, tick in zip(series.days.tolist(), series.ticks.tolist(), strict=True):
            value = {"value": Decimal(print_tick(tick, series.decimals)), "unit": readable_unit(series.unit)}
            fields = {**whose, "status": "final", "code": code, "effectiveDateTime": _instant(day), "valueQuantity": value}
            yield SeedRow("Observation", make_id(case_id, series.name, day), fields)
    for i, order in enumerate(record.prescriptions):
        drug = knowledge.drugs[order.drug]
        frequency, period, unit = _TIMING[order.frequency]
        medicine = {"coding": [{"system": RXNORM, "code": drug.rxcui}], "text": drug.names.say(language)}
        dose = {
            "timing": {"repeat": {"frequency": frequency, "period": period, "periodUnit": unit}},
            "doseAndRate": [{"doseQuantity": {"value": Decimal(str(order.dose)), "unit": order.unit}}],
        }
        fields = {
            **whose,
            "status": "active" if i == len(record.prescriptions) - 1 else "completed",
            "intent": "order",
            "medicationCodeableConcept": medicine,
            "dosageInstruction": [dose],
            "authoredOn": _instant(order.day),
        }
        yield SeedRow("MedicationRequest", make_id(case_id, "prescription", i), fields)
    for note in record.notes:
        visit = {"patient_id": person.patient_id, "type": texts.say(f"visit_{note.source}", language), "note": note.text.say(language)}
        yield SeedRow("encounters", make_id(case_id, "note", note.note_id), visit)
    clinic = record.find("weight_clinic")
    for day in clinic.days.tolist() if clinic else ():
        finished: dict[str, Any] = {**whose, "status": "finished", "class": {"code": "AMB"}, "period": {"start": _instant(day)}}
        yield SeedRow("Encounter", make_id(case_id, "visit", day), finished)
    allergen = rng.at(case_id, "allergen").pick(_ALLERGENS)
    if allergen != "none":
        yield allergy_row(person, make_id(case_id, "allergy"), texts.say(f"allergen_{allergen}", language))
    participant = [{"actor": person.subject, "status": "accepted"}]
    booked = {
        "patientId": person.patient_id,
        "status": "booked",
        "description": texts.say("appointment", language),
        "participant": participant,
    }
    yield SeedRow("Appointment", make_id(case_id, "appointment"), {**booked, "start": _instant(record.last_day + 28)})


def allergy_row(person: Person, row_id: str, text: str, *, clinical: str = "active", verification: str = "confirmed") -> SeedRow:
    """An allergy as charted."""
    fields = {
        "patientId": person.patient_id,
        "patient": person.subject,
        "clinicalStatus": {"coding": [{"code": clinical}]},
        "verificationStatus": {"coding": [{"code": verification}]},
        "code": {"text": text},
    }
    return SeedRow("AllergyIntolerance", row_id, fields)


def _instant(day: int) -> str:
    return f"{DAY_ZERO + timedelta(days=day)}T08:00:00Z"
