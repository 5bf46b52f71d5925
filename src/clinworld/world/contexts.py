"""What may be shown beside a symptom: phrases of the closed vocabulary that are observations; everything else is withheld, with a line.

A phrase that attributes a cause, interprets, joins or gives away the answer is never shown. Called when the premise is derived.
"""

from functools import lru_cache
from typing import NamedTuple

from clinworld.core.text import Wording
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import ContextPhrase
from clinworld.schema.job import DeclaredSymptom

SHOWN_FACETS = ("measure", "neg", "sign", "course", "therapy")
_NOTHING = Wording("", "")


class ShownContext(NamedTuple):
    """What is shown of a context in both languages ("" for nothing), and why the rest is withheld ("" when all is shown)."""

    shown: Wording
    withheld: str


def choose_contexts(symptoms: tuple[DeclaredSymptom, ...], knowledge: Knowledge) -> tuple[ShownContext, ...]:
    """For each symptom in turn what of its context is shown; at most a few of one facet in a patient."""
    most = int(knowledge.parameter("premise_context_most_per_facet"))
    used: dict[str, int] = {}
    chosen: list[ShownContext] = []
    for symptom in symptoms:
        phrase, withheld = _find_phrase(symptom.context, knowledge)
        if phrase is None:
            chosen.append(ShownContext(_NOTHING, withheld))
        elif used.get(phrase.facet, 0) >= most:
            chosen.append(ShownContext(_NOTHING, f"{most} contexts of facet {phrase.facet} are shown already"))
        else:
            used[phrase.facet] = used.get(phrase.facet, 0) + 1
            chosen.append(ShownContext(phrase.text, withheld))
    return tuple(chosen)


def _find_phrase(context: str, knowledge: Knowledge) -> tuple[ContextPhrase | None, str]:
    wanted = context.strip().casefold()
    if not wanted:
        return None, ""
    vocabulary = _list_forms(knowledge)
    exact = [phrase for forms, phrase in vocabulary if wanted in forms]
    for phrase in exact:
        if phrase.facet not in SHOWN_FACETS:
            return None, f"it is of facet {phrase.facet}, which is not shown"
    if exact:
        return exact[0], ""
    inside = [(form, phrase) for forms, phrase in vocabulary for form in forms if form and form in wanted]
    for form, phrase in inside:
        if phrase.facet not in SHOWN_FACETS:
            return None, f"it holds {form!r} of facet {phrase.facet}, which is not shown"
    if inside:
        form, phrase = max(inside, key=lambda found: len(found[0]))
        return phrase, f"only {form!r} is in the vocabulary"
    return None, "it is not in the vocabulary of contexts"


@lru_cache(maxsize=4)
def _list_forms(knowledge: Knowledge) -> tuple[tuple[tuple[str, str], ContextPhrase], ...]:
    """Each phrase of the vocabulary with its case-folded forms in both languages."""
    return tuple(((phrase.text.en.casefold(), phrase.text.zh.casefold()), phrase) for phrase in knowledge.contexts.values())
