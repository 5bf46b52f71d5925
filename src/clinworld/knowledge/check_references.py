"""Ids that point to other rows must resolve, and a row may not claim a better status than its source."""

from collections.abc import Iterable, Iterator

from clinworld.core.errors import nearest_match
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.places import claims, place_of
from clinworld.knowledge.rows import STATUSES
from clinworld.schema.finding import Finding

DOSE = "dose"  # what a driver may be observed in besides streams
FEWEST_LOOK_ALIKES = 2


def check_sources(knowledge: Knowledge) -> Iterator[Finding]:
    """Every named source stands in sources.csv."""
    for claim in claims(knowledge):
        yield from _unknown("source_exists", f"{claim.place}, source", (claim.source,), knowledge.sources, "sources.csv")


def check_statuses(knowledge: Knowledge) -> Iterator[Finding]:
    """No row claims more than its source: a number from a recalled source is not checked. A derived row rests on other rows."""
    for claim in claims(knowledge):
        source = knowledge.sources.get(claim.source)
        if source is not None and claim.status != "derived" and STATUSES.index(claim.status) < STATUSES.index(source.status):
            allowed = f"{source.status} or weaker, as is its source {source.id}"
            yield Finding("status_not_raised", f"{claim.place}, status", claim.status, allowed)


def check_references(knowledge: Knowledge) -> Iterator[Finding]:
    """Devices, streams, analytes, drivers and conditions that rows name exist."""
    items = {*knowledge.streams, *knowledge.analytes}
    groups = {analyte.group for analyte in knowledge.analytes.values()}
    for key, device in knowledge.devices.items():
        place = place_of(knowledge, "devices", key, "reports")
        yield from _unknown("id_resolves", place, device.reports, {*knowledge.streams, *groups}, "a stream or an analyte group")
    for key, stream in knowledge.streams.items():
        yield from _unknown("id_resolves", place_of(knowledge, "streams", key, "devices"), stream.devices, knowledge.devices, "a device")
    for key, artifact in knowledge.artifacts.items():
        yield from _unknown("id_resolves", place_of(knowledge, "artifacts", key, "needs"), artifact.needs, knowledge.devices, "a device")
        yield from _unknown(
            "id_resolves", place_of(knowledge, "artifacts", key, "series"), (artifact.series,), knowledge.streams, "a stream"
        )
    for key, driver in knowledge.drivers.items():
        seen = tuple(name for name in driver.observed_in if name != DOSE)
        yield from _unknown("id_resolves", place_of(knowledge, "drivers", key, "observed_in"), seen, knowledge.streams, "a stream")
        if driver.evidence:
            place = place_of(knowledge, "drivers", key, "evidence")
            yield from _unknown("id_resolves", place, (driver.evidence,), knowledge.streams, "a stream")
    for key, event in knowledge.events.items():
        place = place_of(knowledge, "events", key, "shadows")
        yield from _unknown("id_resolves", place, event.shadows, {*knowledge.drivers, *knowledge.conditions}, "a driver or condition")
    for key, condition in knowledge.conditions.items():
        yield from _unknown(
            "id_resolves", place_of(knowledge, "conditions", key, "signals"), condition.signals, items, "a stream or analyte"
        )
        levels = tuple(level.item for level in condition.levels)
        yield from _unknown("id_resolves", place_of(knowledge, "conditions", key, "levels"), levels, items, "a stream or analyte")
    for key, drug in knowledge.drugs.items():
        moved = tuple(effect.item for effect in drug.effects)
        yield from _unknown("id_resolves", place_of(knowledge, "drugs", key, "effects"), moved, items, "a stream or analyte")


def check_indications(knowledge: Knowledge) -> Iterator[Finding]:
    """A drug is indicated for conditions that exist, at a top dose on its ladder; off-label uses are among them."""
    for key, drug in knowledge.drugs.items():
        place = place_of(knowledge, "drugs", key, "indications")
        named = tuple(condition for condition, _ in drug.indications)
        if not named:
            yield Finding("indication_exists", place, "no indication", "at least one condition")
        yield from _unknown("indication_exists", place, named, knowledge.conditions, "a condition")
        yield from _unknown(
            "indication_exists", place_of(knowledge, "drugs", key, "off_label"), drug.off_label, named, "an indication of the drug"
        )
        for condition, top in drug.indications:
            if top not in drug.ladder:
                yield Finding("indication_exists", f"{place} ({condition})", f"{top:g}", f"a dose of the ladder: {_doses(drug.ladder)}")


def check_derived_streams(knowledge: Knowledge) -> Iterator[Finding]:
    """A derived stream has a parent that is measured itself and either intercepts and slope or a formula; its scale is linear."""
    for key, stream in knowledge.streams.items():
        place = place_of(knowledge, "streams", key, "parent")
        line = (stream.intercept_m is not None, stream.intercept_f is not None, stream.slope is not None)
        wanted = (bool(stream.parent) and not stream.derived_by,) * 3
        if line != wanted or (stream.derived_by and not stream.parent):
            allowed = "parent with intercepts and slope or with derived_by, or none of them"
            yield Finding("derived_stream_is_whole", place, repr(stream.parent), allowed)
        elif stream.parent:
            yield from _unknown("derived_stream_is_whole", place, (stream.parent,), knowledge.streams, "a stream")
            parent = knowledge.streams.get(stream.parent)
            if parent is not None and parent.parent:
                yield Finding("derived_stream_is_whole", place, f"{stream.parent}, itself derived", "a stream that is measured")
            if stream.scale != "linear":
                yield Finding("derived_stream_is_whole", place, f"scale {stream.scale}", "linear, as its line is")


def check_look_alikes(knowledge: Knowledge) -> Iterator[Finding]:
    """Look-alikes are conditions, and a disease a case may be about has at least two."""
    for key, condition in knowledge.conditions.items():
        place = place_of(knowledge, "conditions", key, "look_alikes")
        names = tuple(alike.condition for alike in condition.look_alikes)
        yield from _unknown("look_alikes_known", place, names, {*knowledge.conditions} - {key}, "another condition")
        if condition.is_primary and len(set(names)) < FEWEST_LOOK_ALIKES:
            yield Finding("look_alikes_known", place, f"{len(set(names))} look-alikes", f"at least {FEWEST_LOOK_ALIKES}")


def _unknown(check: str, place: str, names: Iterable[str], known: Iterable[str], what: str) -> Iterator[Finding]:
    options = tuple(known)
    for name in names:
        if name not in options:
            nearest = nearest_match(name, options)
            yield Finding(check, place, repr(name), f"an id of {what}" + (f"; nearest: {nearest!r}" if nearest else ""))


def _doses(ladder: tuple[float, ...]) -> str:
    return ", ".join(f"{dose:g}" for dose in ladder)
