"""Ids that point to other rows must resolve, and a row may not claim a better status than its source."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from clinworld.knowledge.faults import find_unknown
from clinworld.knowledge.load import FILE_KINDS, Knowledge
from clinworld.knowledge.places import claims, place_of, rows_in_question
from clinworld.knowledge.rows import STATUSES, PanelCorrelation, Source
from clinworld.schema.finding import Finding

DOSE = "dose"  # what a driver may be observed in besides streams


def check_sources(knowledge: Knowledge) -> Iterator[Finding]:
    """Every named source stands in sources.csv."""
    for claim in claims(knowledge, in_question=True):
        yield from find_unknown("source_exists", f"{claim.place}, source", (claim.source,), knowledge.sources, "a source")


def check_statuses(knowledge: Knowledge) -> Iterator[Finding]:
    """No row claims more than its source: a number from a recalled source is not checked. A derived row rests on other rows."""
    for claim in claims(knowledge, in_question=True):
        source = knowledge.sources.get(claim.source)
        if source is not None and claim.status != "derived" and STATUSES.index(claim.status) < STATUSES.index(source.status):
            yield Finding("status_not_raised", f"{claim.place}, status", claim.status, weaker_statuses(source))


def weaker_statuses(source: Source) -> str:
    """What a row may claim whose numbers come from a source."""
    return f"{' or '.join(STATUSES[STATUSES.index(source.status) :])}, as its source {source.id} is {source.status}"


def check_reviews(knowledge: Knowledge) -> Iterator[Finding]:
    """No added row claims a signed review: who signed and when stands in the history of the package, and a folder has none to look up."""
    for kind in FILE_KINDS:
        for key in knowledge.added.get(kind, {}):
            row = knowledge.table(kind)[key]
            if row.clinical_review == "signed":
                allowed = "none or pending: a signature needs who signed and when, and a folder from outside cannot show it"
                yield Finding("review_is_shown", place_of(knowledge, kind, key, "clinical_review"), "signed", allowed)


@dataclass(frozen=True, slots=True)
class _Pointer:
    """A cell of a kind of row that names other rows: which ids stand in it, and where they must be found."""

    kind: str
    cell: str
    ids: Callable[[Any], Iterable[str]]
    to: str


def _each(field: str, name: str) -> Callable[[Any], Iterable[str]]:
    """The ids that stand under `name` in the entries of a field."""
    return lambda row: [value for entry in getattr(row, field) if (value := getattr(entry, name))]


def _one(field: str) -> Callable[[Any], Iterable[str]]:
    return lambda row: (getattr(row, field),) if getattr(row, field) else ()


def _all(field: str) -> Callable[[Any], Iterable[str]]:
    return lambda row: getattr(row, field)


def _told_apart(field: str) -> Callable[[Any], Iterable[str]]:
    return lambda row: [name for alike in row.look_alikes if (name := getattr(alike.told_apart_by, field))]


_POINTERS = (
    _Pointer("devices", "reports", _all("reports"), "a stream or an analyte group"),
    _Pointer("devices", "worn_days", _one("worn_days"), "a stream"),
    _Pointer("devices", "worn_nights", _all("worn_nights"), "a stream"),
    _Pointer("streams", "devices", _all("devices"), "a device"),
    _Pointer("artifacts", "needs", _all("needs"), "a device"),
    _Pointer("artifacts", "series", _one("series"), "a stream"),
    _Pointer("drivers", "observed_in", lambda row: [name for name in row.observed_in if name != DOSE], "a stream"),
    _Pointer("drivers", "evidence", _one("evidence"), "a stream"),
    _Pointer("events", "shadows", _all("shadows"), "a driver or condition"),
    _Pointer("past_events", "condition", _one("condition"), "a condition"),
    _Pointer("past_events", "drugs", _all("drugs"), "a drug"),
    _Pointer("past_events", "taken", _one("taken"), "a drug"),
    _Pointer("past_events", "state", _one("state"), "a rule fact"),
    _Pointer("symptom_shadows", "id", _one("id"), "a symptom"),
    _Pointer("symptom_shadows", "shadows", _all("shadows"), "a driver, condition, stream or analyte"),
    _Pointer("symptom_complaints", "id", _one("id"), "a symptom"),
    _Pointer("symptom_complaints", "complaints", _all("complaints"), "a symptom"),
    _Pointer("condition_states", "id", _one("id"), "a condition"),
    _Pointer("condition_states", "states", _all("states"), "a flag of rule_facts"),
    _Pointer("tests", "measures", _all("measures"), "an analyte, stream or finding"),
    _Pointer("tests", "tier", _one("tier"), "a price tier"),
    _Pointer("tests", "alternatives", _all("alternatives"), "a test"),
    _Pointer("comorbidities", "a", _one("a"), "a condition"),
    _Pointer("comorbidities", "b", _one("b"), "a condition"),
    _Pointer("factor_effects", "factor", _one("factor"), "a factor"),
    _Pointer("factor_effects", "item", _one("item"), "an analyte, stream or finding"),
    _Pointer("correlations", "a", _one("a"), "an analyte, stream or finding"),
    _Pointer("correlations", "b", _one("b"), "an analyte, stream or finding"),
    _Pointer("platforms", "factor", _one("factor"), "a factor"),
    _Pointer("platforms", "measures", _all("measures"), "an analyte, stream or finding"),
    _Pointer("event_effects", "event", _one("event"), "an event"),
    _Pointer("event_effects", "item", _one("item"), "a stream or analyte"),
    _Pointer("couplings", "cause", _one("cause"), "a condition, stream or analyte"),
    _Pointer("couplings", "effect", _one("effect"), "a stream or analyte"),
    _Pointer("conditions", "specialty", _one("specialty"), "a specialty"),
    _Pointer("conditions", "signals", _all("signals"), "a stream or analyte"),
    _Pointer("conditions", "levels", _each("levels", "item"), "a stream or analyte"),
    _Pointer("conditions", "symptoms", _each("symptoms", "symptom"), "a symptom"),
    _Pointer("conditions", "findings", _each("findings", "item"), "an analyte, stream or finding"),
    _Pointer("conditions", "red_flags", _each("red_flags", "symptom"), "a symptom"),
    _Pointer("conditions", "red_flags", _each("red_flags", "item"), "an analyte, stream or finding"),
    _Pointer(
        "conditions",
        "told_apart_by",
        lambda row: [a.told_apart_by.item for a in row.look_alikes if a.told_apart_by.item],
        "an analyte, stream or finding",
    ),
    _Pointer(
        "conditions",
        "told_apart_by",
        lambda row: [a.told_apart_by.symptom for a in row.look_alikes if a.told_apart_by.symptom],
        "a symptom",
    ),
    _Pointer("conditions", "told_apart_by", _told_apart("drug"), "a drug"),
    _Pointer("conditions", "tests", lambda row: (*row.tests.first_line, *row.tests.confirmatory), "a test"),
    _Pointer("drugs", "effects", _each("effects", "item"), "a stream or analyte"),
    _Pointer("drugs", "monitoring", _each("monitoring", "item"), "an analyte, stream, finding or test"),
    _Pointer("drugs", "adverse_effects", _each("adverse_effects", "symptom"), "a symptom"),
    _Pointer("drugs", "adverse_effects", _each("adverse_effects", "item"), "an analyte, stream or finding"),
    _Pointer("drugs", "contraindications", _each("contraindications", "condition"), "a condition"),
    _Pointer("drugs", "contraindications", _each("contraindications", "item"), "an analyte, stream, finding or rule fact"),
    _Pointer("drugs", "interactions", _each("interactions", "drug"), "a drug"),
)


def check_references(knowledge: Knowledge) -> Iterator[Finding]:
    """Every id that a row names in another table or file exists there."""
    known = _known_ids(knowledge)
    for pointer in _POINTERS:
        for key, row in rows_in_question(knowledge, pointer.kind):
            place = place_of(knowledge, pointer.kind, key, pointer.cell)
            yield from find_unknown("id_resolves", place, pointer.ids(row), known[pointer.to], pointer.to)


_ITEM = "an analyte, stream or finding"
_NAMED = {  # how ids of parameters begin that go on with the ids of other rows, and what these are, one after the other
    "background.documented_share.": ("a condition",),
    "background.needs.": ("a condition", "a condition"),
    "background.never.": ("a condition",),
    "background.odds_per_5_bmi.": ("a condition",),
    "finding.diabetes_only.": (_ITEM,),
    "finding.noise.": (_ITEM,),
    "finding.routine.": (_ITEM,),
    "finding.usual_mean.": (_ITEM,),
    "finding.usual_sd.": (_ITEM,),
    "finding.women_only.": (_ITEM,),
    "history_after.": ("a condition", "a condition"),
    "history_dose.": ("a drug",),
    "history_dose_per_kg.": ("a drug",),
    "history_enough.": ("a condition", "an analyte"),
    "history_order.": ("a condition", "a drug"),
    "history_untreated_most.": ("an analyte",),
    "history_years_there.": ("a drug",),
    "kin.": (_ITEM, _ITEM),
    "kin_apart.": (_ITEM, "a condition"),
    "kin_up.": (_ITEM, _ITEM),
    "kin_down.": (_ITEM, _ITEM),
    "least_apart.": ("a stream", "a stream"),
    "levels_after_menopause_high.": ("an analyte",),
    "levels_after_menopause_low.": ("an analyte",),
    "levels_held.": ("a condition",),
    "levels_usual_mean.": ("an analyte",),
    "presenting.lifelong.": ("a condition",),
    "usual.": ("a stream", "a condition"),
}


_SHORTER = ("history_order.",)  # may name the first alone


def check_parameter_names(knowledge: Knowledge) -> Iterator[Finding]:
    """A parameter whose id names other rows names rows there are: a misspelt one would act on nothing, in silence."""
    known = _known_ids(knowledge)
    for key, _ in rows_in_question(knowledge, "parameters"):
        for beginning, kinds in _NAMED.items():
            if key.startswith(beginning):
                names, place = key.removeprefix(beginning).split("."), place_of(knowledge, "parameters", key, "id")
                if len(names) > len(kinds) or (len(names) < len(kinds) and beginning not in _SHORTER):
                    yield Finding("id_resolves", place, repr(key), f"{beginning} and then {', '.join(kinds)}, with a dot between")
                for name, kind in zip(names, kinds, strict=False):
                    yield from find_unknown("id_resolves", place, (name,), known[kind], kind)


def _known_ids(knowledge: Knowledge) -> dict[str, Collection[str]]:
    """The ids there are, by what a message calls them."""
    series = {**knowledge.streams, **knowledge.analytes}
    causes = {**dict.fromkeys(knowledge.drivers), **dict.fromkeys(knowledge.conditions)}
    groups = {analyte.group for analyte in knowledge.analytes.values()}
    return {
        "a stream": knowledge.streams,
        "a device": knowledge.devices,
        "a condition": knowledge.conditions,
        "a condition, stream or analyte": {**dict.fromkeys(knowledge.conditions), **series},
        "an event": knowledge.events,
        "a symptom": knowledge.symptoms,
        "a test": knowledge.tests,
        "a price tier": knowledge.tiers,
        "a specialty": knowledge.specialties,
        "a factor": knowledge.factors,
        "a drug": knowledge.drugs,
        "a rule fact": knowledge.rule_facts,
        "a flag of rule_facts": [key for key, fact in knowledge.rule_facts.items() if fact.kind == "flag"],
        "a stream or analyte": series,
        "an analyte": knowledge.analytes,
        "a stream or an analyte group": {**knowledge.streams, **dict.fromkeys(groups)},
        "a driver or condition": causes,
        "a driver, condition, stream or analyte": {**causes, **series},
        "an analyte, stream or finding": knowledge.items,
        "an analyte, stream, finding or rule fact": {**dict.fromkeys(knowledge.items), **dict.fromkeys(knowledge.rule_facts)},
        "an analyte, stream, finding or test": {**dict.fromkeys(knowledge.items), **dict.fromkeys(knowledge.tests)},
    }


def check_correlations(knowledge: Knowledge) -> Iterator[Finding]:
    """Two items stand together once at a level, whichever comes first.

    Streams whose readings of a day go together are measured themselves, and by the same devices: whoever has one may have both.
    """
    stands: dict[tuple[str, frozenset[str]], str] = {}
    for key, row in knowledge.correlations.items():
        before = stands.setdefault((row.level, frozenset((row.a, row.b))), key)
        if before != key or row.a == row.b:
            allowed = "two different items" if row.a == row.b else f"a pair that does not stand already in row {before}"
            yield Finding("pair_stands_once", place_of(knowledge, "correlations", key, "b"), f"{row.a!r} and {row.b!r}", allowed)
        if row.level == "daily":
            yield from _check_daily(row, knowledge)


def _check_daily(row: PanelCorrelation, knowledge: Knowledge) -> Iterator[Finding]:
    check, one = "daily_streams_go_together", knowledge.streams.get(row.a)
    if row.of != "results":
        yield Finding(check, place_of(knowledge, "correlations", row.id, "of"), repr(row.of), "results, as readings are")
    for cell, name in (("a", row.a), ("b", row.b)):
        stream, place = knowledge.streams.get(name), place_of(knowledge, "correlations", row.id, cell)
        if stream is None or stream.parent or not stream.devices:
            yield Finding(check, place, repr(name), "a stream that a device measures itself")
        elif one is not None and stream.devices != one.devices:
            by, allowed = (" or ".join(each.devices) or "no device" for each in (stream, one))
            yield Finding(check, place, f"{name!r}, by {by}", f"a stream by {allowed}, as {row.a}")


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
            yield from find_unknown("derived_stream_is_whole", place, (stream.parent,), knowledge.streams, "a stream")
            parent = knowledge.streams.get(stream.parent)
            if parent is not None and parent.parent:
                yield Finding("derived_stream_is_whole", place, f"{stream.parent!r}, itself derived", "a stream that is measured")
            if stream.scale != "linear":
                yield Finding("derived_stream_is_whole", place, f"scale {stream.scale}", "linear, as its line is")
