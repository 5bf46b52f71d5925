"""The Parquet files of a cohort: their columns, and how they are written so that equal rows give equal bytes.

Loads pyarrow when first used; nothing else in the package needs it. What the columns mean stands in docs/cohort.md.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clinworld.cohort.codes import Code
from clinworld.cohort.rows import Columns
from clinworld.core.errors import StoreError, UsageError

FORMAT = 1  # of the columns and their meaning; a change is a new number
ROW_ORDER = ("patient", "day", "code")
METADATA = {b"clinworld": b'{"cohort_format": 1, "is_synthetic": true}'}
COMPRESSION, LEVEL = "zstd", 1


class Person(NamedTuple):
    """What is fixed in one patient, as a row of people.parquet. `rows` is how many rows the patient has in the shards."""

    patient: str
    case: str
    sex: str
    age_low: int
    age_high: int
    bmi: float | None
    conditions: tuple[str, ...]
    devices: tuple[str, ...]
    drug: str
    last_day: int
    rows: int


def load_arrow() -> tuple[Any, Any]:
    """(pyarrow, pyarrow.parquet). Raises UsageError saying what to install where they are not there."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as problem:
        raise UsageError(
            "clinworld cohort", f"pyarrow cannot be loaded ({problem})", do="Install it: pip install 'clinworld[tables]'."
        ) from None


def row_schema() -> Any:
    """The schema of the shards: patient, day, code, value, unit, source, text."""
    pa, _ = load_arrow()
    word = pa.dictionary(pa.int32(), pa.string())
    kinds = {"patient": word, "day": pa.int32(), "code": word, "value": pa.float64(), "unit": word, "source": word, "text": word}
    is_empty = {"value", "unit", "text"}
    return pa.schema([pa.field(name, kind, nullable=name in is_empty) for name, kind in kinds.items()], metadata=METADATA)


def rows_to_table(columns: Columns, patients: Sequence[str]) -> Any:
    """The rows of some patients, whose ids are `patients`, as an Arrow table."""
    pa, _ = load_arrow()

    def words(places: Any, names: Sequence[str]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(names, pa.string()))

    def words_or_none(places: Any, names: Sequence[str], is_none: Any) -> Any:
        if not is_none.any():
            return words(places, names)
        return pa.DictionaryArray.from_arrays(pa.array(places, mask=is_none), pa.array(names, pa.string()))

    is_absent = np.isnan(columns.value)
    no_unit = columns.unit_names.index("") if "" in columns.unit_names else -1
    arrays = [
        words(columns.patient, patients),
        pa.array(columns.day),
        words(columns.code, columns.code_names),
        pa.array(columns.value, mask=is_absent if is_absent.any() else None),
        words_or_none(columns.unit, columns.unit_names, columns.unit == no_unit),
        words(columns.source, columns.source_names),
        words_or_none(columns.text, columns.text_names, columns.text < 0),
    ]
    return pa.Table.from_arrays(arrays, schema=row_schema())


def people_schema() -> Any:
    """The schema of people.parquet."""
    pa, _ = load_arrow()
    kinds = {
        "patient": pa.string(),
        "case": pa.string(),
        "sex": pa.string(),
        "age_low": pa.int32(),
        "age_high": pa.int32(),
        "bmi": pa.float64(),
        "conditions": pa.list_(pa.string()),
        "devices": pa.list_(pa.string()),
        "drug": pa.string(),
        "last_day": pa.int32(),
        "rows": pa.int64(),
    }
    return pa.schema([pa.field(name, kind, nullable=name == "bmi") for name, kind in kinds.items()], metadata=METADATA)


def people_to_table(people: Sequence[Person]) -> Any:
    """People as an Arrow table."""
    pa, _ = load_arrow()
    schema = people_schema()
    columns = zip(*people, strict=True) if people else [()] * len(schema)
    return pa.Table.from_arrays([pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema)


def codes_to_table(codes: Sequence[Code], rows: dict[str, int]) -> Any:
    """What codes mean, with how many rows each has, as an Arrow table."""
    pa, _ = load_arrow()
    columns = {
        "code": pa.array([code.code for code in codes], pa.string()),
        "id": pa.array([code.id for code in codes], pa.string()),
        "kind": pa.array([code.kind for code in codes], pa.string()),
        "name_en": pa.array([code.names.en for code in codes], pa.string()),
        "name_zh": pa.array([code.names.zh for code in codes], pa.string()),
        "unit": pa.array([code.unit or None for code in codes], pa.string()),
        "frequency": pa.array([code.frequency or None for code in codes], pa.string()),
        "parent_codes": pa.array([code.parents for code in codes], pa.list_(pa.string())),
        "rows": pa.array([rows[code.code] for code in codes], pa.int64()),
    }
    return pa.table(columns, metadata=METADATA)


@contextmanager
def open_rows(path: Path) -> Iterator[Any]:
    """A writer of shard rows: `write_table` adds a row group."""
    _, pq = load_arrow()
    schema = row_schema()
    with pq.ParquetWriter(
        path,
        schema,
        compression=COMPRESSION,
        compression_level=LEVEL,
        use_dictionary=[name for name in schema.names if name != "day"],
        column_encoding={"day": "DELTA_BINARY_PACKED"},
        write_statistics=["patient", "day"],
        sorting_columns=[pq.SortingColumn(schema.names.index(name)) for name in ROW_ORDER],
    ) as writer:
        yield writer


@contextmanager
def open_plain(path: Path, schema: Any) -> Iterator[Any]:
    """A writer of a small table."""
    _, pq = load_arrow()
    with pq.ParquetWriter(path, schema, compression=COMPRESSION, compression_level=LEVEL) as writer:
        yield writer


def read_table(path: Path) -> Any:
    """A whole Parquet file as an Arrow table. Raises StoreError for one that is missing or broken."""
    pa, pq = load_arrow()
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as problem:
        raise StoreError(str(path), f"cannot be read ({problem})", do="Make the cohort again in another folder.") from None
