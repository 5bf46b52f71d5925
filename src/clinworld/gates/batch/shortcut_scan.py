"""No bookkeeping feature tells the outcome: counts, days, lengths, devices, ids and wording are scanned one by one.

Medicine may predict the answer, bookkeeping may not. The largest AUC over all features is compared with its null from label
permutations; a planted shortcut must be found at the same n, else the scan is unmeasured.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng
from clinworld.gates.case import Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item

CONTROLS = ("bookkeeping_without_a_shortcut", "a_planted_evidence_row")
Reals = NDArray[np.float64]


class Scan(NamedTuple):
    """The strongest feature, its AUC (0.5–1), and the permutation p of the largest AUC over all features."""

    feature: str
    auc: float
    p: float


def check(batch: tuple[Sequence[tuple[Item, GoldRow]], Knowledge]) -> Outcome:
    """One finding when bookkeeping separates the outcomes beyond chance."""
    pairs, knowledge = batch
    labels = np.array([gold.gold.event_occurs for _, gold in pairs], dtype=bool)
    limit, permutations = knowledge.parameter("shortcut.p"), int(knowledge.parameter("shortcut.permutations"))
    if min(labels.sum(), (~labels).sum()) < 2:
        return Outcome(0, (), f"needs both outcomes, each at least twice; there are {int(labels.sum())} events in {len(labels)} items")
    names, features = read_features([item for item, _ in pairs])
    planted = plant(labels, knowledge.parameter("shortcut.planted_flips"))
    power = scan([*names, "planted"], np.vstack([features, planted]), labels, permutations)
    if power.p > limit:
        needed = items_needed(limit)
        return Outcome(0, (), f"a planted shortcut is not found with {len(labels)} items (p {power.p:.3f}); about {needed} are needed")
    found = scan(names, features, labels, permutations)
    if found.p <= limit:
        place = f"feature {found.feature}, n {len(labels)}"
        return Outcome(len(names), (Finding("shortcut_scan", place, f"AUC {found.auc:.2f}, p {found.p:.3f}", f"p above {limit:g}"),))
    return Outcome(
        len(names), (), f"{len(names)} features, n {len(labels)}: largest AUC {found.auc:.2f} ({found.feature}), p {found.p:.3f}"
    )


def read_features(items: Sequence[Item]) -> tuple[list[str], Reals]:
    """Bookkeeping features [feature, item] of what is shown at T."""
    rows: list[dict[str, float]] = []
    for position, item in enumerate(items):
        shown = item.record.until(item.index_day)
        texts = [note.text.say(item.language) + (note.context.say(item.language) if note.context else "") for note in shown.notes]
        days = [note.day for note in shown.notes]
        row = {
            "position": float(position),
            "item_id": float(int(item.item_id[:8], 16)),
            "n_series": float(len(shown.series)),
            "n_notes": float(len(shown.notes)),
            "n_contexts": float(sum(1 for note in shown.notes if note.context)),
            "text_length": float(sum(map(len, texts))),
            "mean_note_day": float(np.mean(days)) / item.index_day if days else -1.0,
            "last_note_day": float(max(days)) / item.index_day if days else -1.0,
            "n_prescriptions": float(len(shown.prescriptions)),
            "n_probes": float(len(item.probes)),
            "first_note_id": float(int(shown.notes[0].note_id[1:], 16)) if shown.notes else -1.0,
        }
        row |= {f"has_device:{device}": 1.0 for device in shown.profile.devices}
        row |= {f"has_series:{series.name}": 1.0 for series in shown.series}
        row |= {f"n_readings:{series.name}": len(series.ticks) / item.index_day for series in shown.series}
        rows.append(row)
    names = sorted({name for row in rows for name in row})
    table = np.array([[row.get(name, 0.0) for row in rows] for name in names])
    varies = table.max(axis=1) > table.min(axis=1)
    return [name for name, keep in zip(names, varies, strict=True) if keep], table[varies]


def plant(labels: NDArray[np.bool_], flips: float) -> Reals:
    """The labels with every so-manyth one flipped: a shortcut that is right in 1 − flips of the items."""
    planted = labels.astype(np.float64)
    every = max(1, round(1 / flips))
    planted[every - 1 :: every] = 1.0 - planted[every - 1 :: every]
    return planted


def scan(names: Sequence[str], features: Reals, labels: NDArray[np.bool_], permutations: int) -> Scan:
    """The strongest single feature and its permutation p; nothing to scan has p 1."""
    if not len(names):
        return Scan("none", 0.5, 1.0)
    ranks = np.array([mid_ranks(row) for row in features])
    order = np.argsort(Rng(0).at("shortcut", "permutations").uniform(permutations * len(labels)).reshape(permutations, -1), axis=1)
    shuffled = labels[order]
    observed = largest_auc(ranks, labels[None, :])[:, 0]
    null = largest_auc(ranks, shuffled).max(axis=0)
    best = int(np.argmax(observed))
    p = (1 + int(np.sum(null >= observed[best] - 1e-12))) / (permutations + 1)
    return Scan(names[best], float(observed[best]), p)


def mid_ranks(values: Reals) -> Reals:
    """Ranks from 1, ties at their mean."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middles: Reals = ends - (counts - 1) / 2.0
    return middles[inverse]


def largest_auc(ranks: Reals, labels: NDArray[np.bool_]) -> Reals:
    """AUC folded to 0.5–1 for each [feature, labelling]."""
    n_event = labels.sum(axis=1)
    n_other = labels.shape[1] - n_event
    sums = np.array([ranks[:, row].sum(axis=1) for row in labels]).T
    auc = (sums - n_event * (n_event + 1) / 2) / (n_event * n_other)
    folded: Reals = np.maximum(auc, 1.0 - auc)
    return folded


def items_needed(limit: float) -> int:
    """Roughly how many items, half of them events, a shortcut right in nine of ten needs to be found."""
    return 2 * max(8, round(np.log(1.0 / limit) * 2.5))
