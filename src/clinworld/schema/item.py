"""What may be asked: a view of the record and one question. Holds nothing of the answer."""

from dataclasses import dataclass
from typing import Any, Literal

from clinworld.core.text import Language, Wording
from clinworld.schema.job import EpisodeKind
from clinworld.schema.record import Record
from clinworld.schema.record_rows import record_from_row, record_to_row

ProbeKind = Literal["false_premise", "no_op", "quant"]


@dataclass(frozen=True, slots=True)
class ProbeQuestion:
    """A question appended to a prompt. `about` names a series or a note; `days` the window asked about, if any.

    `variant` picks the wording (quant: trend | peak_day). What the right reply is stands on the gold side.
    """

    kind: ProbeKind
    variant: str
    about: str
    days: tuple[int, int] | None
    claim: Wording | None  # the statement a false-premise probe puts into the patient's mouth


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One question. `record` reaches to the last day any of its episodes shows; `index_day` is T.

    `item_id` is opaque. `rows_used` are knowledge rows ("analytes:hba1c"), for provenance.
    """

    item_id: str
    pack: str
    pack_version: int
    language: Language
    episodes: tuple[EpisodeKind, ...]  # those this item can carry; the first is the job's
    index_day: int
    window_days: int  # the question reaches from T to T + window_days
    cadence_days: int
    target_event: str
    record: Record
    probes: tuple[ProbeQuestion, ...]
    rows_used: tuple[str, ...]
    remarks: tuple[str, ...]  # label ids a reader is owed, such as "symptoms_as_written"


def item_to_row(item: Item) -> dict[str, Any]:
    """The JSON form of an item."""
    return {
        "item_id": item.item_id,
        "pack": item.pack,
        "pack_version": item.pack_version,
        "language": item.language,
        "episodes": item.episodes,
        "index_day": item.index_day,
        "window_days": item.window_days,
        "cadence_days": item.cadence_days,
        "target_event": item.target_event,
        "record": record_to_row(item.record),
        "probes": [
            {"kind": p.kind, "variant": p.variant, "about": p.about, "days": p.days, "claim": [p.claim.en, p.claim.zh] if p.claim else None}
            for p in item.probes
        ],
        "rows_used": item.rows_used,
        "remarks": item.remarks,
    }


def item_from_row(row: dict[str, Any]) -> Item:
    """The item in a JSON row written by `item_to_row`; other keys of the row (digests) are not read."""
    return Item(
        item_id=row["item_id"],
        pack=row["pack"],
        pack_version=row["pack_version"],
        language=row["language"],
        episodes=tuple(row["episodes"]),
        index_day=row["index_day"],
        window_days=row["window_days"],
        cadence_days=row["cadence_days"],
        target_event=row["target_event"],
        record=record_from_row(row["record"]),
        probes=tuple(
            ProbeQuestion(
                kind=p["kind"],
                variant=p["variant"],
                about=p["about"],
                days=(p["days"][0], p["days"][1]) if p["days"] else None,
                claim=Wording(*p["claim"]) if p["claim"] else None,
            )
            for p in row["probes"]
        ),
        rows_used=tuple(row["rows_used"]),
        remarks=tuple(row["remarks"]),
    )
