"""Patients' words: enough of them in each language, each meaning one thing, none naming what it is a symptom of."""

import re
from collections.abc import Iterator

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.names import spoken_names
from clinworld.knowledge.places import place_of, row_text, rows_in_question, wrong_place
from clinworld.knowledge.word_tables import RED_FLAGS, find_listed_word, load_sex_words
from clinworld.schema.finding import Finding

FEWEST_WORDINGS = 4
LONGEST = {"en": 60, "zh": 30}
_SHORT = 2  # an alias of so few letters counts only in its own case
_HALF_WIDTH = re.compile(r"(?<=[\u3400-\u9fff])[,;:?!.]|[,;:?!](?=[\u3400-\u9fff])")


def check_wording_counts(knowledge: Knowledge) -> Iterator[Finding]:
    """A symptom has at least four wordings in each language, as many in one as in the other, none too long to be said."""
    for key, row in rows_in_question(knowledge, "symptoms"):
        for language, texts in (("en", row.wordings.en), ("zh", row.wordings.zh)):
            place = place_of(knowledge, "symptoms", key, f"wordings_{language}")
            if len(texts) < FEWEST_WORDINGS:
                yield Finding("enough_wordings", place, f"{len(texts)} wordings", f"at least {FEWEST_WORDINGS} in each language")
            for text in texts:
                if len(text) > LONGEST[language]:
                    yield Finding("enough_wordings", place, f"{text!r}, {len(text)} characters", f"at most {LONGEST[language]} characters")
        if len(row.wordings.en) != len(row.wordings.zh):
            found = f"{len(row.wordings.zh)} wordings in Chinese and {len(row.wordings.en)} in English"
            yield Finding("enough_wordings", place_of(knowledge, "symptoms", key, "wordings_zh"), found, "as many in each language")


def check_wordings_mean_one_thing(knowledge: Knowledge) -> Iterator[Finding]:
    """No wording stands twice: one that belongs to two symptoms cannot tell conditions apart."""
    seen: dict[str, tuple[str, str]] = {}
    for key, row in knowledge.symptoms.items():
        for language, texts in (("en", row.wordings.en), ("zh", row.wordings.zh)):
            for text in texts:
                folded = _fold(text)
                if folded in seen:
                    other = f"words of its own: wordings_{seen[folded][1]} in {row_text(knowledge, 'symptoms', seen[folded][0])} has these"
                    yield Finding(
                        "wording_means_one_thing", place_of(knowledge, "symptoms", key, f"wordings_{language}"), repr(text), other
                    )
                seen.setdefault(folded, (key, language))


def check_wordings_name_nothing(knowledge: Knowledge) -> Iterator[Finding]:
    """No wording holds a name or alias of a condition or drug that has the symptom: whole words in Latin letters, anywhere in Chinese."""
    users: dict[str, dict[str, tuple[str, str]]] = {}  # symptom → name → kind and id of what it names
    for kind, cell in (("conditions", "symptoms"), ("drugs", "adverse_effects")):
        for key, row in knowledge.table(kind).items():
            names = dict.fromkeys((key.replace("_", " "), *spoken_names(kind, row)), (kind, key))
            for entry in getattr(row, cell):
                users.setdefault(entry.symptom, {}).update(names)
    for key, row in knowledge.symptoms.items():
        for language, texts in (("en", row.wordings.en), ("zh", row.wordings.zh)):
            for text in texts:
                for name, what in users.get(key, {}).items():
                    if _names(text, name):
                        place = wrong_place(knowledge, ("symptoms", key, f"wordings_{language}"), (*what, "names"))
                        allowed = f"no word {name!r}, which names {row_text(knowledge, *what)}, in wordings of the symptom {key}"
                        yield Finding("wording_names_nothing", place, repr(text), allowed)


def check_wordings_fit_the_teller(knowledge: Knowledge) -> Iterator[Finding]:
    """A wording in words that only one sex says of itself stands in a symptom of that sex."""
    for key, row in rows_in_question(knowledge, "symptoms"):
        for language, texts in (("en", row.wordings.en), ("zh", row.wordings.zh)):
            for text in texts:
                for sex, pattern in load_sex_words().items():
                    found = pattern.search(text.casefold())
                    if found and row.sex != sex:
                        place = place_of(knowledge, "symptoms", key, f"wordings_{language}")
                        yield Finding(
                            "wording_fits_the_teller", place, f"{found[0]!r} in {text!r}", f"sex {sex} in the row, or other words"
                        )


def check_events_are_harmless(knowledge: Knowledge) -> Iterator[Finding]:
    """No everyday event says what needs prompt care."""
    for key, row in rows_in_question(knowledge, "events"):
        for text in (row.text.en, row.text.zh, *((row.context.en, row.context.zh) if row.context else ())):
            word = find_listed_word(text, RED_FLAGS)
            if word:
                yield Finding("event_is_harmless", place_of(knowledge, "events", key, "text"), repr(word), "no word of red_flag_words.csv")


def _names(text: str, name: str) -> bool:
    """Whether a text holds a name."""
    if len(name) > _SHORT or not name.isascii():
        text, name = text.casefold(), name.casefold()
    if name not in text:
        return False
    return not name.isascii() or re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text) is not None


def _fold(text: str) -> str:
    """Letters and figures only: a comma more makes no other wording."""
    return "".join(character for character in text.casefold() if character.isalnum())
