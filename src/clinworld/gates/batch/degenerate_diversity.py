"""Items differ: no one pattern of event days, no one start of the weight series and no one everyday text stands in too many of them."""

from collections import Counter
from collections.abc import Hashable, Sequence

from clinworld.gates.case import Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item

CONTROLS = ("patients_who_differ", "patients_cut_from_one_template")
SIGNATURE_DAYS = 8


def check(batch: tuple[Sequence[tuple[Item, GoldRow]], Knowledge]) -> Outcome:
    """One finding for each signature shared by too many items."""
    pairs, knowledge = batch
    least, most = knowledge.parameter("diversity.least_items"), knowledge.parameter("diversity.max_share")
    if len(pairs) < least:
        return Outcome(0, (), f"needs at least {least:g} items, there are {len(pairs)}")
    findings: list[Finding] = []
    for what, signature in (("event days", event_days), ("first weights", first_weights)):
        counts = Counter(value for item, _ in pairs if (value := signature(item)) is not None)
        if counts and counts.most_common(1)[0][1] > max(1, most * len(pairs)):
            share = counts.most_common(1)[0][1] / len(pairs)
            findings.append(Finding("degenerate_diversity", what, f"the same in {share:.0%} of items", f"at most {most:.0%}"))
    findings += check_texts([item for item, _ in pairs], knowledge.parameter("diversity.max_text_share"))
    return Outcome(len(pairs), tuple(findings))


def check_texts(items: Sequence[Item], most: float) -> list[Finding]:
    """Texts that stand in more than a share of the items."""
    counts = Counter(text for item in items for text in sorted({note.text.en for note in item.record.notes}))
    text, times = counts.most_common(1)[0] if counts else ("", 0)
    if times <= max(2, most * len(items)):
        return []
    return [Finding("degenerate_diversity", f"note {text!r}", f"in {times / len(items):.0%} of items", f"at most {most:.0%}")]


def event_days(item: Item) -> Hashable | None:
    """The days of all notes, or None for an item with fewer than three: two days agree by chance."""
    days = tuple(note.day for note in item.record.notes)
    return days if len(days) >= 3 else None


def first_weights(item: Item) -> Hashable | None:
    """The first weighings."""
    series = item.record.find("weight")
    return None if series is None else tuple(series.ticks[:SIGNATURE_DAYS].tolist())
