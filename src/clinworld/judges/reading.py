"""Reading an answer's fields for judges. A field that was left out is None or empty here; what that costs is the judge's business."""

from dataclasses import dataclass
from typing import Any

from clinworld.judges.words.answer_words import ActionClass, Side, action_classes, risk_sides
from clinworld.schema.answer import Answer


@dataclass(frozen=True, slots=True)
class NamedDriver:
    """A driver an answer names, with its claim and the evidence it cites for it."""

    driver: str
    causal_status: str | None
    evidence: tuple[str, ...]


def read_field(answer: Answer, *path: str) -> Any:
    """The value at a path, None where it or anything on the way was left out."""
    found: Any = answer.fields
    for name in path:
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found


def read_list(answer: Answer, *path: str) -> tuple[str, ...]:
    """The non-empty texts of a list, trimmed; empty when the list was left out."""
    found = read_field(answer, *path)
    return tuple(text.strip() for text in found if isinstance(text, str) and text.strip()) if isinstance(found, list) else ()


def said_risk(answer: Answer) -> float | None:
    """The risk said, 0-1; None when none was."""
    risk = read_field(answer, "forecast", "risk")
    return float(risk) if isinstance(risk, (int, float)) and not isinstance(risk, bool) else None


def said_side(answer: Answer) -> Side | None:
    """Which outcome the risk category says is coming; None when no known category was given."""
    return risk_sides().get(read_field(answer, "forecast", "risk_category") or "")


def written_class(answer: Answer) -> str:
    """The action class as written, "" when none was."""
    found = read_field(answer, "action", "selected_action_class")
    return found.strip() if isinstance(found, str) else ""


def chosen_class(answer: Answer) -> ActionClass | None:
    """The approved action class chosen; None when none was, or one that is not approved."""
    return action_classes().get(written_class(answer).upper())


def asks_review(answer: Answer) -> bool:
    """Whether the answer asks for a clinician: it says so, or its class is an urgent one. Left out is not asked."""
    chosen = chosen_class(answer)
    return read_field(answer, "action", "clinician_review_required") is True or (chosen is not None and chosen.is_urgent)


def named_drivers(answer: Answer) -> tuple[NamedDriver, ...]:
    """The drivers named, best rank first, unranked last, each once."""
    entries = read_field(answer, "drivers")
    found: dict[str, NamedDriver] = {}
    listed = [entry for entry in entries if isinstance(entry, dict) and entry.get("driver")] if isinstance(entries, list) else []
    for entry in sorted(listed, key=lambda entry: (entry.get("rank") is None, entry.get("rank") or 0)):
        evidence = tuple(each.strip() for each in entry.get("evidence_for") or () if isinstance(each, str) and each.strip())
        found.setdefault(entry["driver"], NamedDriver(entry["driver"], entry.get("causal_status"), evidence))
    return tuple(found.values())


def cited_ids(answer: Answer) -> tuple[str, ...]:
    """Every id the answer cites, in its evidence list and beside its drivers, each once."""
    beside = (each for driver in named_drivers(answer) for each in driver.evidence)
    return tuple(dict.fromkeys((*read_list(answer, "cited_evidence"), *beside)))


def proposed_tests(answer: Answer) -> tuple[str, ...] | None:
    """The tests ordered; None when the answer carries no list of tests at all."""
    return read_list(answer, "tests_to_order") if isinstance(read_field(answer, "tests_to_order"), list) else None
