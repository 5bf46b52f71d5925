"""Items differ in what they show at T: no one pattern of event days, no one start of the weight series and no one note text stands in
too many of them.

Texts come from a pool, so many events in each item repeat some of them of necessity: a text may stand in as many items as the draw makes
it expected in, with a margin for chance, and always in a fixed share.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from clinworld.gates.case import Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.record import Record
from clinworld.world.event_pool import EventPool, admit_events, load_pool

CONTROLS = ("patients_who_differ", "patients_cut_from_one_template")
GATE = "degenerate_diversity"
SIGNATURE_DAYS = 8
LEAST_EVENTS = 3  # two days agree by chance
HALVINGS = 60
Pairs = Sequence[tuple[Item, GoldRow]]
Reals = NDArray[np.float64]


def check(batch: tuple[Pairs, Knowledge]) -> Outcome:
    """One finding for each signature or text shared by too many items."""
    pairs, knowledge = batch
    least, most = knowledge.parameter("diversity.least_items"), knowledge.parameter("diversity.max_share")
    if len(pairs) < least:
        return Outcome(0, (), f"needs at least {least:g} items, there are {len(pairs)}")
    shown = [item.record.until(item.index_day) for item, _ in pairs]
    findings: list[Finding] = []
    for what, signature in (("event days", event_days), ("first weights", first_weights)):
        counts = Counter(value for record in shown if (value := signature(record)) is not None)
        times = counts.most_common(1)[0][1] if counts else 0
        if times > max(1, most * len(pairs)):
            found = f"the same in {times} of {len(pairs)} items"
            findings.append(Finding(GATE, what, found, f"at most {max(1, math.floor(most * len(pairs)))}"))
    return Outcome(len(pairs), (*findings, *check_texts(shown, pairs, knowledge)))


def check_texts(shown: Sequence[Record], pairs: Pairs, knowledge: Knowledge) -> list[Finding]:
    """The text that stands in the most items beyond what its place in the pool makes likely, when there is one."""
    counts = Counter(text for record in shown for text in sorted({note.text.en for note in record.notes}))
    floor = max(2.0, knowledge.parameter("diversity.max_text_share") * len(pairs))
    suspects = {text: times for text, times in counts.items() if times > floor}
    if not suspects:
        return []
    limits = expect_texts(shown, pairs, knowledge)
    over = {text: times for text, times in suspects.items() if times > max(floor, limits.get(text, 0.0))}
    if not over:
        return []
    text = max(over, key=lambda each: (over[each], each))
    allowed = max(floor, limits.get(text, 0.0))
    return [Finding(GATE, f"note {text!r}", f"in {over[text]} of {len(pairs)} items", f"at most {math.floor(allowed)}")]


def expect_texts(shown: Sequence[Record], pairs: Pairs, knowledge: Knowledge) -> dict[str, float]:
    """Text → how many items it may stand in by the draw alone: the expected number and a margin of binomial standard deviations.

    Each item's share follows from the rows its patient can have and from how many complaints and life events it shows.
    """
    pool, z = load_pool(knowledge), knowledge.parameter("diversity.text_z")
    mean, variance = np.zeros(len(pool.rows)), np.zeros(len(pool.rows))
    for record, (_, gold) in zip(shown, pairs, strict=True):
        kinds = {origin.note_id: origin.kind for origin in gold.origins}
        drawn = [kinds[note.note_id] for note in record.notes if is_drawn(note.note_id, kinds)]
        told = Counter("life" if kind == "life" else "complaint" for kind in drawn)
        admitted = admit_events(pool, gold.premise)
        for kind, rows in (("life", pool.is_life), ("complaint", ~pool.is_life)):
            if told[kind]:
                p = share_of_rows(pool, (admitted & rows).tobytes(), told[kind])
                mean, variance = mean + p, variance + p * (1 - p)
    limits = mean + z * np.sqrt(variance)
    return {row.text.en: float(limit) for row, limit in zip(pool.rows, limits, strict=True)}


def is_drawn(note_id: str, kinds: Mapping[str, str]) -> bool:
    """True for a note that comes from the pool of everyday events."""
    return kinds.get(note_id) in ("life", "benign", "distractor")


@lru_cache(maxsize=1024)
def share_of_rows(pool: EventPool, admitted: bytes, times: int) -> Reals:
    """For each row the chance to be among `times` weighted draws without replacement, at most one a topic.

    A row tied to a season counts for its share of the year. Draws without replacement are the first `times` of independent exponential
    clocks; the clock time is where the expected count fits.
    """
    open_rows = np.frombuffer(admitted, dtype=bool)
    weights = np.where(open_rows, -1.0 / pool.per_weight, 0.0) * (1.0 - pool.is_out_of_season.mean(axis=0))
    by_topic = np.bincount(pool.topics, weights=weights)
    low, high = 0.0, 1.0
    wanted = min(float(times), float(np.count_nonzero(by_topic)))
    for _ in range(HALVINGS):
        if (-np.expm1(-by_topic * high)).sum() >= wanted:
            break
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if (-np.expm1(-by_topic * middle)).sum() < wanted else (low, middle)
    reached = -np.expm1(-by_topic * high)
    of_topic = by_topic[pool.topics]
    shares: Reals = np.divide(weights, of_topic, out=np.zeros_like(weights), where=of_topic > 0) * reached[pool.topics]
    return shares


def event_days(record: Record) -> Hashable | None:
    """The days of all notes, or None for a record with too few to differ."""
    days = tuple(note.day for note in record.notes)
    return days if len(days) >= LEAST_EVENTS else None


def first_weights(record: Record) -> Hashable | None:
    """The first weighings."""
    series = record.find("weight")
    return None if series is None else tuple(series.ticks[:SIGNATURE_DAYS].tolist())
