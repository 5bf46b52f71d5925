"""The lay-language audit: each claim, the checks that hold it, and how much of the knowledge it was held against.

`python tests/knowledge/lay_audit.py` prints the table.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from clinworld.core.text import LANGUAGES
from clinworld.knowledge.check_conditions import (
    check_deciding_symptoms,
    check_look_alikes,
    check_presentations,
    check_told_apart,
    described,
)
from clinworld.knowledge.check_names import check_languages
from clinworld.knowledge.check_wordings import (
    check_events_are_harmless,
    check_wording_counts,
    check_wordings_fit_the_teller,
    check_wordings_mean_one_thing,
    check_wordings_name_nothing,
)
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.schema.finding import Finding


class Claim(NamedTuple):
    """A claim of the audit. `counts` gives what is checked, by what it is; a claim about nothing is no claim."""

    text: str
    checks: tuple[Callable[[Knowledge], Iterator[Finding]], ...]
    counts: Callable[[Knowledge], dict[str, int]]


def wordings_of(knowledge: Knowledge, symptom: str, language: str) -> frozenset[str]:
    """A symptom's wordings in one language, in small letters."""
    return frozenset(text.casefold() for text in getattr(knowledge.symptoms[symptom].wordings, language))


def deciding_pairs(knowledge: Knowledge) -> Iterator[tuple[str, str, str]]:
    """A symptom that decides, and the two conditions of which the first has it and the second does not.

    A symptom decides where it tells a look-alike apart, or is called deciding and the look-alike lacks it.
    """
    for key, condition in described(knowledge):
        for alike in condition.look_alikes:
            told, other = alike.told_apart_by, knowledge.conditions[alike.condition]
            if told.symptom and not other.is_name_only:
                has, lacks = (key, other.id) if told.here == "present" else (other.id, key)
                yield told.symptom, has, lacks
            for entry in condition.symptoms:
                if entry.role == "deciding" and not other.is_name_only and not other.has_symptom(entry.symptom):
                    yield entry.symptom, key, other.id


def check_shared_wordings(knowledge: Knowledge) -> Iterator[Finding]:
    """No wording that decides between two conditions is told in the one that lacks the symptom."""
    for symptom, has, lacks in deciding_pairs(knowledge):
        for language in LANGUAGES:
            told = {text for entry in knowledge.conditions[lacks].symptoms for text in wordings_of(knowledge, entry.symptom, language)}
            for text in sorted(told & wordings_of(knowledge, symptom, language)):
                yield Finding("shared_wording_decides", f"{has} against {lacks}", repr(text), f"a wording of {symptom} alone")


def _wordings(knowledge: Knowledge) -> dict[str, int]:
    return {
        f"wordings_{language}": sum(len(getattr(row.wordings, language)) for row in knowledge.symptoms.values()) for language in LANGUAGES
    }


def _symptoms(knowledge: Knowledge) -> dict[str, int]:
    return {"symptoms": len(knowledge.symptoms), **_wordings(knowledge)}


def _pairs(knowledge: Knowledge) -> dict[str, int]:
    pairs = list(deciding_pairs(knowledge))
    return {"deciding_symptoms": len({symptom for symptom, _, _ in pairs}), "pairs": len(pairs)}


def _conditions(knowledge: Knowledge) -> dict[str, int]:
    rows = [row for _, row in described(knowledge)]
    return {
        "conditions": len(rows),
        "look_alikes": sum(len(row.look_alikes) for row in rows),
        "presentations": sum(len(row.presentations) for row in rows),
    }


def _events(knowledge: Knowledge) -> dict[str, int]:
    kinds = [row.kind for row in knowledge.events.values()]
    return {"benign_events": kinds.count("benign"), "life_events": kinds.count("life")}


CLAIMS = (
    Claim(
        "no wording shared by two conditions decides between them",
        (check_shared_wordings, check_wordings_mean_one_thing, check_told_apart, check_deciding_symptoms),
        _pairs,
    ),
    Claim("no name or alias of a condition or drug that has the symptom is told", (check_wordings_name_nothing,), _wordings),
    Claim("every symptom has at least four wordings in each language", (check_wording_counts,), _symptoms),
    Claim("the words are native and fit who says them", (check_languages, check_wordings_fit_the_teller), _wordings),
    Claim("every condition has two look-alikes and three ways of coming to light", (check_look_alikes, check_presentations), _conditions),
    Claim("no everyday event carries a red flag", (check_events_are_harmless,), _events),
)


def main() -> None:
    """Print each claim with what was checked and what was found."""
    knowledge = load_knowledge()
    for claim in CLAIMS:
        found = [str(finding) for check in claim.checks for finding in check(knowledge)]
        checked = ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in claim.counts(knowledge).items())
        print(f"{claim.text}: {checked}; {len(found)} findings")
        for line in found:
            print(f"  {line}")


if __name__ == "__main__":
    main()
