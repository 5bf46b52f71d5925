"""FHIR-shaped rows and the expected records made of them: what a task's chart holds and what it wants written."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from clinworld.core.tables import load_csv
from clinworld.core.text import Language, Wording
from clinworld.packs.emr_write.checker.spec import ExpectedRecord
from clinworld.packs.emr_write.store.chart import Person
from clinworld.packs.emr_write.store.protocol import SeedRow

HERE = Path(__file__).parent
NOW = {"en": datetime.fromisoformat("2025-03-10T09:00:00-05:00"), "zh": datetime.fromisoformat("2025-03-10T09:00:00+08:00")}
_ORDER: dict[str, Any] = {"status": "active", "intent": "order"}


@dataclass(frozen=True, slots=True)
class Orderable:
    """Something that can be ordered or measured: a row of orders.csv."""

    system: str
    code: str
    names: Wording

    def concept(self, language: Language) -> dict[str, Any]:
        """The coded concept with the name as its text."""
        return {"coding": [{"system": self.system, "code": self.code}], "text": self.names.say(language)}

    def displays(self) -> tuple[str, ...]:
        """Names that may stand beside the code."""
        return (self.names.en, self.names.zh)


@lru_cache(maxsize=1)
def load_orders() -> Mapping[str, Orderable]:
    """Rows of orders.csv by id."""
    rows = load_csv(HERE / "orders.csv", ("id", "system", "code", "en", "zh", "source", "status"))
    return {row["id"]: Orderable(row["system"], row["code"], Wording(row["en"], row["zh"])) for row in rows}


def instant(language: Language, *, minutes: int = 0) -> str:
    """An instant so many minutes after the task's now (before it when negative), with the clinic's offset."""
    return (NOW[language] + timedelta(minutes=minutes)).isoformat()


def next_morning(language: Language, hour: int) -> str:
    """The next day's instant at a whole hour, with the clinic's offset."""
    return (NOW[language] + timedelta(days=1)).replace(hour=hour, minute=0, second=0).isoformat()


def result_row(
    person: Person,
    row_id: str,
    what: Orderable,
    value: Decimal,
    unit: str,
    at: str,
    language: Language,
    *,
    status: str = "final",
    issued: str = "",
) -> SeedRow:
    """A laboratory result as charted."""
    fields: dict[str, Any] = {
        "patientId": person.patient_id,
        "subject": person.subject,
        "status": status,
        "code": what.concept(language),
        "effectiveDateTime": at,
        "valueQuantity": {"value": value, "unit": unit},
    }
    return SeedRow("Observation", row_id, {**fields, "issued": issued} if issued else fields)


def order_row(person: Person, row_id: str, what: Orderable, at: str, language: Language, **changed: Any) -> SeedRow:
    """A service order as charted; `changed` overrides elements."""
    fields = {"patientId": person.patient_id, "subject": person.subject, **_ORDER, "code": what.concept(language), "authoredOn": at}
    return SeedRow("ServiceRequest", row_id, {**fields, **changed})


def _whose(person: Person) -> tuple[dict[str, str], dict[str, Any]]:
    keys = {"patientId": person.patient_id, "encounterId": person.encounter_id}
    return keys, {"subject": person.subject, "encounter": {"reference": f"Encounter/{person.encounter_id}"}}


def expect_medication(
    person: Person, what: Orderable, dose: Mapping[str, Any], language: Language, *, repeat: Mapping[str, Any] | None = None
) -> ExpectedRecord:
    """A medication order; the dose may be given in another unit of the same amount."""
    keys, whose = _whose(person)
    instruction: dict[str, Any] = {"doseAndRate": [{"doseQuantity": dict(dose)}]}
    if repeat:
        instruction = {"timing": {"repeat": dict(repeat)}, **instruction}
    fields = {
        **whose,
        **_ORDER,
        "medicationCodeableConcept": what.concept(language),
        "dosageInstruction": [instruction],
        "authoredOn": instant(language),
    }
    return ExpectedRecord(
        "medication",
        "MedicationRequest",
        "create",
        keys,
        fields,
        optional={"medicationCodeableConcept.coding.display": what.displays()},
        unit_equivalent=("dosageInstruction.doseAndRate.doseQuantity",),
    )


def expect_service(person: Person, what: Orderable, language: Language, *, at: str = "", note: str = "") -> ExpectedRecord:
    """An order for a test or a referral, with its time and its text where it has them."""
    keys, whose = _whose(person)
    fields = {**whose, **_ORDER, "code": what.concept(language), "authoredOn": instant(language)}
    if at:
        fields["occurrenceDateTime"] = at
    if note:
        fields["note"] = [{"text": note}]
    return ExpectedRecord("service", "ServiceRequest", "create", keys, fields, optional={"code.coding.display": what.displays()})
