"""Whether a text decides to change a medicine, or only speaks of a change: denies it, makes it depend, leaves it to others, reports it.

English changes are a verb or noun of change on a medicine, Chinese ones a fixed word or a verb before a medicine. What stands around a
change in its clause and sentence tells a decision from talk. All words stand in med_change.csv, both languages are read alike.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from clinworld.core.tables import load_csv
from clinworld.core.text import Language

HERE = Path(__file__).parent

# Full stops, commas and the like of both scripts; the escapes are the Chinese ones.
_COMMA, _COLON = "\uff0c", "\uff1a"
_ASKING = ("?", "\uff1f")
_END = re.compile(r"(?<=[!?\u3002\uff01\uff1f])|(?<=\.)(?=\s|$)")
_ENTRY = re.compile(r"^\s*(?:[-*\u2022\u00b7]|\(?\d{1,2}[.)\u3001])\s*")
_SEMICOLONS = re.compile(r"[;\uff1b]")
_QUOTES = re.compile(
    '\u201c[^\u201d]*\u201d|"[^"]*"|\u300c[^\u300d]*\u300d|\u300e[^\u300f]*\u300f|\u2018[^\u2019]*\u2019'
    r"|(?<=[\s(:])'[^']*'(?=[\s.,;)]|$)"
)
_MOST_READ, _MOST_IN_SENTENCE, _MOST_INTRODUCED = 20_000, 1_000, 200  # characters, so that a runaway reply takes bounded time
_NUMBER = r"\d+(?:\.\d+)?"
_WORDS_BETWEEN = 4
_NEAR = 18  # characters within which a word of history still belongs to the change
_NEXT_TO = 4  # the same for a word that makes it no medicine


@dataclass(frozen=True, slots=True)
class _Words:
    change: re.Pattern[str]
    noun: re.Pattern[str]
    kinds: dict[str, re.Pattern[str]]


def find_decided_change(text: str, drugs: tuple[str, ...]) -> str | None:
    """The first words of a text that decide a change of medicine, None when none do. `drugs` are names that count as medicines.

    The first 20,000 characters are read.
    """
    return _find(text[:_MOST_READ], drugs)


@lru_cache(maxsize=1024)
def _find(text: str, drugs: tuple[str, ...]) -> str | None:
    words = _words(drugs)
    for sentence in _sentences(text):
        plain = words.kinds["not_negation"].sub(lambda match: "_" * len(match[0]), sentence)
        for match in words.change.finditer(plain):
            if _is_decided(plain, match.start(), match.end(), words):
                return " ".join(match[0].split())
    return None


def plain_change(language: Language) -> str:
    """A text that decides a change, for controls."""
    return next(phrase for phrase, spoken in _phrases()["control"] if spoken == language)


def _sentences(text: str) -> Iterator[str]:
    """Sentences and list entries in order; an entry stands behind the words that introduce its list, up to their colon."""
    introduction = ""
    for line in text.casefold().replace("\u2019", "'").replace(_COLON, ":").split("\n"):
        entry = _ENTRY.match(line)
        content = line[entry.end() :].strip() if entry else line.strip()
        if not content:
            continue
        whole = f"{introduction} {content}" if entry else content
        sentences = [part.strip() for part in _END.split(whole) if part.strip()]
        for sentence in sentences:
            yield from _parts(sentence)
        if not entry:
            introduction = sentences[-1][-_MOST_INTRODUCED:] if content.endswith(":") else ""


def _parts(sentence: str) -> Iterator[str]:
    """A sentence at its semicolons, each part behind what a colon introduces; overlong parts are cut."""
    head, colon, rest = sentence.partition(":")
    introduction, listed = (head + colon, rest) if colon and len(head) < _MOST_INTRODUCED else ("", sentence)
    for part in _SEMICOLONS.split(listed):
        for start in range(0, len(part) or 1, _MOST_IN_SENTENCE):
            yield introduction + part[start : start + _MOST_IN_SENTENCE]


def _is_decided(sentence: str, start: int, end: int, words: _Words) -> bool:
    kinds = words.kinds
    breaks = [match for match in kinds["break"].finditer(sentence) if not start <= match.start() < end]
    clause_start = max((match.end() for match in breaks if match.end() <= start), default=0)
    clause_end = min((match.start() for match in breaks if match.start() >= end), default=len(sentence))
    before, after = sentence[clause_start:start], sentence[end:clause_end]
    earlier, opening = sentence[:clause_start], sentence[:clause_start].lstrip()
    if sentence.rstrip().endswith(_ASKING):
        return False
    if any(kinds[kind].search(before) for kind in ("negation", "adjacent_negation", "condition", "deferral", "report")):
        return False
    if _is_denied_from_afar(sentence, clause_start, start, clause_end, words):
        return False
    is_reset = kinds["reset"].match(before.lstrip()) and not kinds["condition"].match(opening)
    if kinds["condition"].search(earlier) and not is_reset:
        return False
    joined_after = kinds["joint"].split(after)[0]
    if kinds["condition"].search(joined_after) or kinds["approval"].search(joined_after):
        return False
    if _is_history(sentence[start:end], before, after, words) or _is_quoted(sentence, start, kinds):
        return False
    return _is_directed(sentence[start:end], before, words)


def _is_denied_from_afar(sentence: str, clause_start: int, start: int, clause_end: int, words: _Words) -> bool:
    """A negation before a colon governs the list after it; one before a comma governs what `or` ties to it."""
    colon = sentence.rfind(":", 0, start)
    if colon >= 0 and words.kinds["negation"].search(sentence[:colon]):
        return True
    earlier = sentence[:clause_start]
    if not words.kinds["negation"].search(earlier):
        return False
    tied = words.kinds["link"].search(sentence[clause_start:start])
    next_clause = sentence[clause_end:].lstrip(" ," + _COMMA)
    return bool(tied) or bool(words.kinds["link"].match(next_clause))


def _is_history(change: str, before: str, after: str, words: _Words) -> bool:
    # An English imperative is never history: "after 4 weeks increase the dose" decides, "after increasing the dose" tells.
    is_told = bool(words.noun.fullmatch(change)) or change.split()[0].endswith("ing")
    near = before[-_NEAR:] if is_told or not change.isascii() else ""
    told = words.kinds["history"].search(near)
    if told and not words.kinds["directive"].search(near, told.end()):
        return True
    if words.kinds["after_noun"].match(after.lstrip()):
        return True
    return bool(words.kinds["after_result"].match(after)) and not words.kinds["directive"].search(before)


def _is_quoted(sentence: str, start: int, kinds: dict[str, re.Pattern[str]]) -> bool:
    for quote in _QUOTES.finditer(sentence):
        if quote.start() < start < quote.end():
            lead = sentence[: quote.start()]
            is_asked = quote[0][:-1].endswith(_ASKING)
            return is_asked or any(kinds[kind].search(lead) for kind in ("quoter", "negation"))
    return False


def _is_directed(change: str, before: str, words: _Words) -> bool:
    if words.kinds["not_drug"].search(before[-_NEXT_TO:]):
        return False
    if not words.noun.fullmatch(change):
        return True
    return not before.strip() or bool(words.kinds["directive"].search(before))


@lru_cache(maxsize=1)
def _phrases() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for row in load_csv(HERE / "med_change.csv", ("kind", "language", "phrase")):
        found.setdefault(row["kind"], []).append((row["phrase"], row["language"]))
    return found


@lru_cache(maxsize=8)
def _words(drugs: tuple[str, ...]) -> _Words:
    phrases = _phrases()
    names = [(name.casefold(), "zh" if any(ord(letter) > 0x2E80 for letter in name) else "en") for name in drugs if len(name) > 1]

    def either(kind: str, language: str, *more: str) -> str:
        texts = {phrase for phrase, spoken in phrases.get(kind, ()) if spoken == language} | set(more)
        return "|".join(re.escape(text) for text in sorted(texts, key=lambda text: (-len(text), text)))

    def named(language: str) -> tuple[str, ...]:
        return tuple(name for name, spoken in names if spoken == language)

    objects_en, objects_zh = either("object", "en", *named("en")), either("object", "zh", *named("zh"), *named("en"))
    fillers_en = f"(?:(?:{either('filler', 'en', *named('en'))}|{_NUMBER})\\s+){{0,{_WORDS_BETWEEN}}}"
    fillers_zh = f"(?:{either('filler', 'zh', *named('zh'))}|[0-9a-z .-]){{0,{_WORDS_BETWEEN}}}?"
    amount = f"(?:(?:to|by|at|on)\\s+)?{_NUMBER}\\s*(?:{either('unit', 'en')})"
    noun = rf"\b(?:{either('noun', 'en')})\b"
    change = "|".join(
        (
            noun,
            rf"\b(?:{either('verb', 'en')})\s+{fillers_en}(?:(?:{objects_en})\b|{amount}\b)",
            rf"\b(?:{objects_en})\s+(?:{either('modal', 'en')})\s+(?:{either('participle', 'en')})\b",
            r"\b(?:titrate|titrating|step)\s+(?:up|down)(?:wards?)?\b",
            f"(?:{either('marker', 'zh')})",
            f"(?:{either('verb', 'zh')}){fillers_zh}(?:{objects_zh}|{_NUMBER}\\s*(?:{either('unit', 'zh')}))",
            f"(?:{either('verb_of_amount', 'zh')}){fillers_zh}(?:{either('amount', 'zh')}|{_NUMBER}\\s*(?:{either('unit', 'zh')}))",
            f"(?:{either('fronting', 'zh')})(?:{fillers_zh}(?:{objects_zh}))+(?:{either('verb', 'zh')}|{either('short_verb', 'zh')})",
        )
    )
    kinds = {}
    for kind in phrases:
        english, chinese = either(kind, "en"), either(kind, "zh")
        parts = ([rf"\b(?:{english})(?!\w)"] if english else []) + ([f"(?:{chinese})"] if chinese else [])
        kinds[kind] = re.compile("|".join(parts))
    kinds["adjacent_negation"] = re.compile(f"(?:{kinds['adjacent_negation'].pattern})\\s*(?:the|a|any)?\\s*$")
    kinds["break"] = re.compile(rf"[,{_COMMA}]|{kinds['break'].pattern}")
    return _Words(re.compile(change), re.compile(noun), kinds)
