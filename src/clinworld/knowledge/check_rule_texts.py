"""Both languages of protocols and rule facts: there, native, and free of what belongs to the other."""

import re
from collections.abc import Iterator

from clinworld.core.text import Wording
from clinworld.knowledge.rule_facts import RuleKnowledge
from clinworld.knowledge.rule_places import fact_place, protocol_place, rule_place
from clinworld.schema.finding import Finding

_HAN = re.compile(r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]")
_HAN_LETTER = re.compile(r"[\u3400-\u9fff]")
_ENGLISH_PHRASE = re.compile(r"\b[a-z]{2,} [a-z]{2,}\b")


def check_rule_languages(knowledge: RuleKnowledge) -> Iterator[Finding]:
    """English text holds nothing Chinese; Chinese text holds Chinese and no two English words in a row."""
    for place, wording in _wordings(knowledge):
        if not wording.en or _HAN.search(wording.en):
            yield Finding("both_languages_native", place, repr(wording.en), "English in the English text")
        if not _HAN_LETTER.search(wording.zh) and wording.zh != wording.en:
            yield Finding("both_languages_native", place, repr(wording.zh), "Chinese in the Chinese text")
        if _ENGLISH_PHRASE.search(wording.zh):
            yield Finding("both_languages_native", place, repr(wording.zh), "no English phrase in the Chinese text")


def _wordings(knowledge: RuleKnowledge) -> Iterator[tuple[str, Wording]]:
    for name, protocol in knowledge.protocols.items():
        yield protocol_place(knowledge, name, "names"), protocol.names
        if protocol.note is not None:
            yield protocol_place(knowledge, name, "note"), protocol.note
        for index, question in enumerate(protocol.asks):
            yield protocol_place(knowledge, name, f"asks[{index}]"), question
        for index, rule in enumerate(protocol.rules):
            place = rule_place(knowledge, protocol, index)
            yield from ((f"{place}, what", rule.what), (f"{place}, because", rule.because))
    for name, fact in knowledge.rule_facts.items():
        yield fact_place(knowledge, name, "names"), fact.names
        for phrase in fact.phrases:
            yield fact_place(knowledge, name, "choices"), phrase
