"""Effects of events and couplings: called by what they join, of a size they may have, on what they may act on, and never in a circle."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.places import place_of, wrong_place
from clinworld.knowledge.rows import Analyte, Coupling, Driver, EventEffect, Stream
from clinworld.schema.finding import Finding

DECIDED = ("weight", "adherence", "evidence", "quality")  # roles of streams that a case's course decides


def check_event_effects(knowledge: Knowledge) -> Iterator[Finding]:
    """An effect has a size within its cap, acts on what is measured itself and no course decides, and on a driver's stream only briefly."""
    caps: dict[tuple[str, str], float] = {}
    for key, row in knowledge.event_effects.items():
        place = place_of(knowledge, "event_effects", key)
        if key != f"{row.event}__{row.item}":
            yield Finding("event_effect_is_whole", f"{place}, id", repr(key), repr(f"{row.event}__{row.item}"))
        if not 0 < abs(row.peak) <= row.cap:
            yield Finding("event_effect_is_whole", f"{place}, peak", f"{row.peak:g}", f"a size within the cap, {row.cap:g}")
        if row.unit == "%" and row.peak < 0 and row.cap >= 100:
            yield Finding("event_effect_is_whole", f"{place}, cap", f"{row.cap:g}", "less than 100 % where an effect lowers")
        item = knowledge.items.get(row.item)
        if row.unit == "own" and (isinstance(item, Analyte) or (isinstance(item, Stream) and item.scale == "log")):
            yield Finding("event_effect_is_whole", f"{place}, unit", row.unit, "% for an analyte and for a log stream")
        if (cap := caps.setdefault((row.item, row.unit), row.cap)) != row.cap:
            yield Finding("event_effect_is_whole", f"{place}, cap", f"{row.cap:g}", f"{cap:g}, as in the other rows of {row.item}")
        yield from _check_target(knowledge, row.item, f"{place}, item")
        for driver in knowledge.drivers.values():
            if driver.evidence == row.item and driver.normal and driver.abnormal is not None:
                yield from _check_brief(knowledge, row, driver, driver.normal, driver.abnormal - driver.normal)


def _check_brief(knowledge: Knowledge, row: EventEffect, driver: Driver, normal: float, full: float) -> Iterator[Finding]:
    """Whether an event that goes the way of a driver could be taken for it."""
    most_days, share = (knowledge.parameter(f"event_effects.most_evidence_{name}") for name in ("days", "share"))
    most = share * abs(100 * full / normal if row.unit == "%" else full)
    days, evidence = row.lasts_days + row.fade_days, ("drivers", driver.id, "evidence")
    if row.peak * full > 0 and days > most_days:
        place = wrong_place(knowledge, ("event_effects", row.id, "lasts_days"), evidence)
        allowed = f"at most {most_days:g} days on the evidence of {driver.id}"
        yield Finding("event_shows_no_driver", place, f"{days:g} days of {row.id} with its fade", allowed)
    if row.peak * full > 0 and abs(row.peak) > most:
        place = wrong_place(knowledge, ("event_effects", row.id, "peak"), evidence)
        yield Finding("event_shows_no_driver", place, f"{row.peak:g} of {row.id}", f"at most {most:g} on the evidence of {driver.id}")


def check_couplings(knowledge: Knowledge) -> Iterator[Finding]:
    """A coupling has a slope and a cap, says nothing a condition's own file says, moves no driver's evidence and is in no circle."""
    for key, row in knowledge.couplings.items():
        place = place_of(knowledge, "couplings", key)
        if key != f"{row.cause}__{row.effect}":
            yield Finding("coupling_is_whole", f"{place}, id", repr(key), repr(f"{row.cause}__{row.effect}"))
        if not row.slope or not row.cap:
            yield Finding("coupling_is_whole", f"{place}, slope", f"{row.slope:g} up to {row.cap:g}", "a slope and a cap that are not 0")
        yield from _check_target(knowledge, row.effect, f"{place}, effect")
        for driver in (driver for driver in knowledge.drivers.values() if driver.evidence == row.effect):
            shown = wrong_place(knowledge, ("couplings", key, "effect"), ("drivers", driver.id, "evidence"))
            yield Finding("coupling_moves_no_evidence", shown, row.effect, f"a stream that shows no driver, as the coupling {key} moves it")
        condition = knowledge.conditions.get(row.cause)
        own = [each.item for each in condition.findings] + [each.item for each in condition.levels] if condition is not None else []
        if row.effect in own:
            allowed = f"an item that {row.cause} does not move in its own file"
            yield Finding("coupling_repeats_nothing", f"{place}, effect", row.effect, allowed)
    for circle in find_circles(knowledge.couplings.values()):
        place = place_of(knowledge, "couplings", circle[0].id)
        path = " to ".join([*(row.cause for row in circle), circle[0].cause])
        yield Finding("couplings_in_no_circle", place, path, "couplings that lead nowhere back")


def _check_target(knowledge: Knowledge, item: str, place: str) -> Iterator[Finding]:
    row = knowledge.analytes.get(item) or knowledge.streams.get(item)
    if isinstance(row, Stream) and (row.role in DECIDED or row.parent):
        yield Finding("effect_acts_on_truth", place, item, "a stream that is measured itself and that no course decides")
    if isinstance(row, Analyte) and row.derived_by:
        yield Finding("effect_acts_on_truth", place, item, "an analyte that is not calculated")


def find_circles(rows: Iterable[Coupling]) -> Iterator[tuple[Coupling, ...]]:
    """The couplings that lead back to where they begin, each circle once and from its last row in table order, the one that closes it."""
    order = tuple(rows)
    by_cause: dict[str, list[Coupling]] = {}
    for row in order:
        by_cause.setdefault(row.cause, []).append(row)
    told: set[str] = set()
    for first in reversed(order):
        circle = _shortest_path(first, by_cause) if first.id not in told else ()
        told |= {row.id for row in circle}
        if circle:
            yield circle


def _shortest_path(first: Coupling, by_cause: Mapping[str, list[Coupling]]) -> tuple[Coupling, ...]:
    """The shortest way along couplings that begins with one and leads back to its cause; () where there is none."""
    came_by: dict[str, Coupling] = {first.effect: first}
    reached = deque([first.effect])
    while reached and first.cause not in came_by:
        for row in by_cause.get(reached.popleft(), ()):
            if row.effect not in came_by:
                came_by[row.effect] = row
                reached.append(row.effect)
    path: list[Coupling] = []
    at = first.cause
    while at in came_by and (not path or path[-1] is not first):
        path.append(came_by[at])
        at = came_by[at].cause
    return tuple(reversed(path))


def sort_couplings(rows: Iterable[Coupling]) -> tuple[Coupling, ...]:
    """The couplings in an order in which every cause is moved before it moves something. Those in a circle are left out."""
    waiting: list[Coupling] = list(rows)
    ordered: list[Coupling] = []
    while moved := {row.effect for row in waiting}:
        ready = [row for row in waiting if row.cause not in moved]
        if not ready:
            break
        ordered += ready
        waiting = [row for row in waiting if row.cause in moved]
    return tuple(ordered)
