"""Small cohorts for the tests, and a record that holds every kind of fact there is."""

from pathlib import Path
from typing import Any

import numpy as np

from clinworld.cohort.build import CohortSummary, Plan, build_cohort
from clinworld.cohort.patient import Wanted
from clinworld.core.text import Wording
from clinworld.knowledge.load import load_knowledge
from clinworld.schema.record import (
    Dispensing,
    FindingResult,
    History,
    MethodChange,
    Note,
    PastEvent,
    PastPrescription,
    Prescription,
    Profile,
    Record,
    Series,
    Specimen,
)

SEED = "11"
KNOWN = load_knowledge()


def plan(patients: int = 4, **changes: Any) -> Plan:
    """A plan with the given differences."""
    usual: dict[str, Any] = {
        "seed": SEED,
        "first": 0,
        "shard_size": 1000,
        "language": "en",
        "wanted": Wanted(),
        "knowledge_dir": None,
        "stamps": {"world": "0" * 16},
        "workers": 1,
    }
    return Plan(patients=patients, **{**usual, **changes})


def make(out: Path, patients: int = 4, **changes: Any) -> CohortSummary:
    """A cohort in a folder."""
    return build_cohort(out, plan(patients, **changes), knowledge=KNOWN)


def read_rows(out: Path) -> Any:
    """Every row of a cohort's shards as one table of plain columns, in the order of files and rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = [pq.read_table(path) for path in sorted(out.glob("patients-*.parquet"))]
    kinds = [field.with_type(field.type.value_type if pa.types.is_dictionary(field.type) else field.type) for field in tables[0].schema]
    return pa.concat_tables(table.cast(pa.schema(kinds)) for table in tables).combine_chunks()


def keep(rows: Any, column: str, values: Any, *, out: bool = False) -> Any:
    """The rows whose column is among some values, or with `out` those where it is not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chosen = pc.is_in(rows[column], pa.array(sorted(values), pa.string()))
    return rows.filter(pc.invert(chosen) if out else chosen).combine_chunks()


def rows_of(out: Path, place: int) -> list[tuple[Any, ...]]:
    """The rows of one patient without the id."""
    found = keep(read_rows(out), "patient", [f"{place:08d}"]).to_pydict()
    del found["patient"]
    return list(zip(*found.values(), strict=True))


def read_people(out: Path) -> list[dict[str, Any]]:
    """The rows of people.parquet."""
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(out / "people.parquet").to_pylist()
    return rows


def files_of(out: Path) -> dict[str, bytes]:
    """Every file a user sees, by name, but the one that holds time and host."""
    return {path.name: path.read_bytes() for path in sorted(out.iterdir()) if not path.name.startswith(".") and path.name != "cohort.json"}


def series(name: str, days: list[int], ticks: list[int], *, unit: str = "%", decimals: int = 1, setting: Any = "laboratory") -> Series:
    """A series."""
    return Series(name, setting, unit, decimals, np.array(days, dtype=np.int32), np.array(ticks, dtype=np.int64))


def record_of(*kept: Series, **facts: Any) -> Record:
    """A record with some series and facts."""
    profile = Profile(45, 49, "F", 31.5, ("obesity",), (), ("smart_scale",))
    return Record(profile, 200, kept, **{"notes": (), "prescriptions": (), **facts})


def full_record() -> Record:
    """A record with one of everything a record can hold."""
    return record_of(
        series("hba1c", [0, 90], [71, 65]),
        series("weight", [0, 1, 90], [980, 979, 950], unit="kg", setting="home"),
        notes=(Note("n1", 12, "patient_reported_symptom", Wording("Tired.", "T"), Wording("After work.", "W")),),
        prescriptions=(Prescription(0, "metformin", 500.0, "mg", "twice_daily"),),
        dispensing=(Dispensing(2, "metformin", 500.0, "mg", 30),),
        specimens=(Specimen(90, 485, True, "clinic", "platform_a", "", ("platform_b",)),),
        method_changes=(MethodChange(60, "hba1c", "platform_a", "platform_b"),),
        findings=(FindingResult(30, "urine_ketones", False, None, 0), FindingResult(30, "bmi", True, 312, 1)),
        history=History(
            visits=(-400, -30),
            series=(series("hba1c", [-400, -30], [68, 70]),),
            prescriptions=(PastPrescription(-400, -100, "metformin", 500.0, "mg"),),
            events=(PastEvent(-700, Wording("Appendix removed.", "A"), "hospital"),),
        ),
    )
