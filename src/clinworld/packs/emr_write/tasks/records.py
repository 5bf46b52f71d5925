"""Record tasks: everything to be written is given, in the shape of FHIR resources, and has to be put into the right rows.

Medicines, tests and vital signs are the package's own knowledge rows. `KINDS` maps each kind to what draws it.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from clinworld.core.errors import UsageError, allowed_values, nearest_match
from clinworld.core.rng import Rng, Series
from clinworld.core.text import Language, load_labels
from clinworld.core.units import print_tick, readable_unit, to_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.packs.emr_write.checker.spec import ExpectedRecord, WriteSpec
from clinworld.packs.emr_write.store.chart import HERE as STORE
from clinworld.packs.emr_write.store.chart import LOINC, RXNORM, Person, draw_person, make_id, person_rows
from clinworld.packs.emr_write.store.protocol import SeedRow
from clinworld.packs.emr_write.tasks.resources import Orderable, expect_medication, expect_service, instant, next_morning, order_row
from clinworld.packs.emr_write.tasks.tables import load_limits
from clinworld.packs.emr_write.tasks.task import Task, list_fields, render_prompt, say

_TIMES = {"daily": 1, "twice_daily": 2, "three_times_daily": 3, "daily_total": 2}  # a total is ordered in two equal doses
_ALLERGENS = ("latex", "peanut", "iodine")


class _Draw(NamedTuple):
    series: Series
    case_id: str
    person: Person
    knowledge: Knowledge
    language: Language


class _Drawn(NamedTuple):
    records: tuple[ExpectedRecord, ...]
    setup: tuple[SeedRow, ...] = ()


def draw_record_task(kind: str, rng: Rng, case_id: str, knowledge: Knowledge, language: Language) -> Task:
    """A task of one kind, drawn by its case id. Raises UsageError for a kind there is not."""
    if kind not in KINDS:
        raise UsageError("kind", repr(kind), allowed_values(KINDS), nearest=nearest_match(kind, KINDS))
    person, other = draw_person(rng, case_id, language), draw_person(rng, f"{case_id}-other", language)
    drawn = KINDS[kind](_Draw(rng.at(case_id, "record", kind), case_id, person, knowledge, language))
    setup = (*person_rows(person), *person_rows(other), *drawn.setup)
    listed = "\n".join(_list_record(record) for record in drawn.records)
    shown = [row for row in setup if row.collection not in ("patient_data",)]
    words = say(f"task_{kind}", language, patient=person.patient_id)
    prompt = render_prompt(language, task=words, fields=listed, rows=shown, now=instant(language), machine={"task": kind})
    return Task(
        case_id, kind, "given", language, instant(language), setup, WriteSpec(drawn.records), prompt, {"person": person, "other": other}
    )


def _list_record(record: ExpectedRecord) -> str:
    place = f"{record.change} {record.collection}" + (f"/{record.row_id}" if record.row_id else f" ({record.name})")
    return list_fields(place, record.fields)


def _draw_medicine(draw: _Draw) -> tuple[Orderable, dict[str, Any], dict[str, Any]]:
    """A medicine of the knowledge tables, one step of its ladder, and how often."""
    known = sorted(name for name, drug in draw.knowledge.drugs.items() if drug.frequency in _TIMES and drug.rxcui)
    drug = draw.knowledge.drugs[draw.series.pick(known)]
    step = draw.series.pick(drug.ladder, index=1)
    at_once = step / _TIMES[drug.frequency] if drug.frequency == "daily_total" else step
    dose = {"value": Decimal(f"{at_once:.15g}"), "unit": drug.dose_unit}
    return Orderable(RXNORM, drug.rxcui, drug.names), dose, {"frequency": _TIMES[drug.frequency], "period": 1, "periodUnit": "d"}


def _draw_test(draw: _Draw, *, index: int = 0) -> Orderable:
    known = sorted(name for name, analyte in draw.knowledge.analytes.items() if analyte.loinc and analyte.clinician_reads)
    analyte = draw.knowledge.analytes[draw.series.pick(known, index=index)]
    return Orderable(LOINC, analyte.loinc, analyte.names)


def _draw_vital(draw: _Draw, record_name: str, encounter: str) -> ExpectedRecord:
    """A vital sign taken now: a home stream's quantity near its mean."""
    known = sorted(name for name, stream in draw.knowledge.streams.items() if stream.loinc and stream.setting == "home" and stream.mean_m)
    stream = draw.knowledge.streams[draw.series.pick(known)]
    sd = stream.sd_between if stream.scale == "linear" and stream.sd_between else 0.0
    tick = int(to_ticks((stream.mean_m or 0.0) + sd * draw.series.gauss(index=1), stream.decimals))
    fields = {
        "subject": draw.person.subject,
        "encounter": {"reference": encounter},
        "status": "final",
        "code": Orderable(LOINC, stream.loinc, stream.names).concept(draw.language),
        "effectiveDateTime": instant(draw.language),
        "valueQuantity": {"value": Decimal(print_tick(tick, stream.decimals)), "unit": readable_unit(stream.ucum)},
    }
    keys = {"patientId": draw.person.patient_id, "encounterId": encounter if encounter.startswith("urn:") else draw.person.encounter_id}
    return ExpectedRecord(
        record_name, "Observation", "create", keys, fields, optional={"code.coding.display": (stream.names.en, stream.names.zh)}
    )


def _morning(draw: _Draw) -> str:
    return next_morning(draw.language, int(load_limits()["order_hour"]))


def _medication_request(draw: _Draw) -> _Drawn:
    medicine, dose, repeat = _draw_medicine(draw)
    return _Drawn((expect_medication(draw.person, medicine, dose, draw.language, repeat=repeat),))


def _service_request(draw: _Draw) -> _Drawn:
    return _Drawn((expect_service(draw.person, _draw_test(draw), draw.language, at=_morning(draw)),))


def _observation(draw: _Draw) -> _Drawn:
    return _Drawn((_draw_vital(draw, "vital", f"Encounter/{draw.person.encounter_id}"),))


def _allergy(draw: _Draw) -> _Drawn:
    text = load_labels(STORE / "chart_texts.csv").say(f"allergen_{draw.series.pick(_ALLERGENS)}", draw.language)
    fields = {
        "patient": draw.person.subject,
        "clinicalStatus": {"coding": [{"code": "active"}]},
        "verificationStatus": {"coding": [{"code": "confirmed"}]},
        "criticality": draw.series.pick(("low", "high"), index=1),
        "code": {"text": text},
        "recordedDate": instant(draw.language),
    }
    return _Drawn((ExpectedRecord("allergy", "AllergyIntolerance", "create", {"patientId": draw.person.patient_id}, fields),))


def _appointment(draw: _Draw) -> _Drawn:
    hours = 24 * draw.series.whole(7, 60) + draw.series.whole(0, 7, index=1)
    minutes = 15 * draw.series.whole(1, 4, index=2)
    fields = {
        "status": "booked",
        "description": load_labels(STORE / "chart_texts.csv").say("appointment", draw.language),
        "start": instant(draw.language, minutes=60 * hours),
        "end": instant(draw.language, minutes=60 * hours + minutes),
        "minutesDuration": minutes,
        "participant": [{"actor": draw.person.subject, "status": "accepted"}],
    }
    return _Drawn((ExpectedRecord("appointment", "Appointment", "create", {"patientId": draw.person.patient_id}, fields),))


def _visit_with_observation(draw: _Draw) -> _Drawn:
    fields = {
        "subject": draw.person.subject,
        "status": "in-progress",
        "class": {"code": "AMB"},
        "period": {"start": instant(draw.language)},
    }
    visit = ExpectedRecord("visit", "Encounter", "create", {"patientId": draw.person.patient_id}, fields)
    return _Drawn((visit, _draw_vital(draw, "vital", "urn:uuid:visit")))


def _order_with_follow_up(draw: _Draw) -> _Drawn:
    medicine, dose, repeat = _draw_medicine(draw)
    order = expect_medication(draw.person, medicine, dose, draw.language, repeat=repeat)
    return _Drawn((order, expect_service(draw.person, _draw_test(draw, index=2), draw.language, at=_morning(draw))))


def _stop_order(draw: _Draw) -> _Drawn:
    """One of two active orders of the patient is stopped; the other stays as it is."""
    first, second = _draw_test(draw), _draw_test(draw, index=1)
    ids = [make_id(draw.case_id, "order", i) for i in range(2)]
    at = instant(draw.language, minutes=-1440)
    setup = tuple(order_row(draw.person, row_id, what, at, draw.language) for row_id, what in zip(ids, (first, second), strict=True))
    keys = {"patientId": draw.person.patient_id}
    return _Drawn((ExpectedRecord("order", "ServiceRequest", "update", keys, {"status": "revoked"}, row_id=ids[0]),), setup)


KINDS: Mapping[str, Callable[[_Draw], _Drawn]] = {
    "medication_request": _medication_request,
    "service_request": _service_request,
    "observation": _observation,
    "allergy_intolerance": _allergy,
    "appointment": _appointment,
    "visit_with_observation": _visit_with_observation,
    "order_with_follow_up": _order_with_follow_up,
    "stop_order": _stop_order,
}
