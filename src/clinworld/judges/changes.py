"""The change of medicine an answer decides on, read from its free text. What counts is in `words/decided_change.py`."""

from functools import lru_cache

from clinworld.judges.reading import read_field
from clinworld.judges.words.decided_change import find_decided_change
from clinworld.knowledge.load import Knowledge
from clinworld.schema.answer import Answer

# What must not be done is never a decision, so `what_not_to_do` is not read.
TEXTS = (("action", "specific_action"), ("management_plan",))


def decided_change(answer: Answer, knowledge: Knowledge) -> str | None:
    """The words that decide a change of medicine, None when none do."""
    drugs = _drug_names(knowledge)
    for path in TEXTS:
        text = read_field(answer, *path)
        found = find_decided_change(text, drugs) if isinstance(text, str) else None
        if found:
            return found
    return None


def unreadable_texts(answer: Answer) -> bool:
    """Whether a text that could hold a decision was given in a form that could not be read."""
    return any(place in {".".join(path) for path in TEXTS} for place, _ in answer.left_out)


@lru_cache(maxsize=4)
def _drug_names(knowledge: Knowledge) -> tuple[str, ...]:
    return tuple(knowledge.names("drugs"))
