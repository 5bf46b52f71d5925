"""Which saved verdicts a report stands on. Rows under different stamps never share a table; a mixture is refused with its counts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from clinworld.core.errors import StampMismatch, UsageError, allowed_values, nearest_match
from clinworld.run.batch_files import EVAL, Batch
from clinworld.schema.cell import Cell, Evaluation

TABLE_STAMPS = ("world", "exam", "judge")
LEAST_PREFIX = 4


class RowsInForce(NamedTuple):
    """The one row of each cell, in cell order, and how many older rows of the same cells stand behind them."""

    rows: tuple[Evaluation, ...]
    superseded: int


def choose_rows(batch: Batch, current: Mapping[str, str], *, as_judged: str | None = None) -> RowsInForce:
    """The row of each cell that counts: the one under the program's own stamps, else the last written.

    With `as_judged` (a stamp or its first characters) every kept eval file is read and only rows under that stamp count. Raises
    UsageError when there is none.
    """
    if as_judged is not None:
        rows = _rows_under(batch, as_judged)
        current = {}
    else:
        rows = batch.evaluations()
    chosen: dict[Cell, Evaluation] = {}
    for row in rows:
        former = chosen.get(row.cell)
        if former is None or not _is_current(former, current):
            chosen[row.cell] = row
    return RowsInForce(tuple(chosen[cell] for cell in sorted(chosen)), len(rows) - len(chosen))


def _is_current(row: Evaluation, current: Mapping[str, str]) -> bool:
    return bool(current) and all(row.stamps.get(name) == current.get(name) for name in ("exam", "judge"))


def _rows_under(batch: Batch, stamp: str) -> list[Evaluation]:
    every = [row for name in (*batch.former_evaluations(), EVAL) for row in batch.evaluations(name)]
    known = sorted({row.stamps.get(name, "") for row in every for name in TABLE_STAMPS} - {""})
    rows = [row for row in every if len(stamp) >= LEAST_PREFIX and any(row.stamps.get(name, "").startswith(stamp) for name in TABLE_STAMPS)]
    if not rows:
        judged = Counter(row.stamps.get("judge", "none") for row in every)
        told = ", ".join(f"{name} ({count} rows)" for name, count in sorted(judged.items())) or "no rows at all"
        raise UsageError(
            f"--as-judged {stamp}",
            f"no row of {batch.folder} stands under it",
            f"judge stamps there: {told}; {allowed_values(known, most=8)}",
            nearest=nearest_match(stamp, known),
        )
    return rows


def table_stamps(row: Evaluation) -> tuple[str, ...]:
    """What a row must share with every other row of its table."""
    return tuple(row.stamps.get(name, "none") for name in TABLE_STAMPS)


def require_one_stamp(rows: Iterable[Evaluation], where: str) -> dict[str, str]:
    """The stamps all rows share, judges' own included. Raises StampMismatch with the number of rows under each when they differ."""
    counted: Counter[tuple[str, ...]] = Counter()
    first: dict[str, str] = {}
    for row in rows:
        counted[table_stamps(row)] += 1
        first = first or dict(row.stamps)
    if len(counted) <= 1:
        return first
    differing = [place for place in range(len(TABLE_STAMPS)) if len({key[place] for key in counted}) > 1]
    told = "; ".join(
        f"{count} of {counted.total()} rows stand under " + ", ".join(f"{TABLE_STAMPS[place]} {key[place]}" for place in differing)
        for key, count in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    )
    raise StampMismatch(where, told, "rows under different stamps cannot share a table", do=_advice(differing), kind="stamps_mixed")


def _advice(differing: Sequence[int]) -> str:
    names = {TABLE_STAMPS[place] for place in differing}
    apart = "or report them apart with `--as-judged STAMP`, or one batch at a time."
    if names == {"judge"}:
        return f"Judge again with `clinworld run BATCH --rejudge` (no agent is called), {apart}"
    if "world" in names:
        return f"The items were made by different rules: build and run again, {apart}"
    return f"The prompts or the reading of replies differ: run the agents again, {apart}"
