"""Every rule of every protocol is read strictly, can be reached, and turns exactly at its thresholds; every check has a failing control."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rule_book import KNOWLEDGE, PROTOCOLS, SHAPES, RuleBook, fact_row, sample

from clinworld.core.errors import KnowledgeError
from clinworld.core.text import Wording
from clinworld.knowledge.check_rules import check_protocols
from clinworld.knowledge.rule_rows import TIERS, AllOf, Between, Not, NumberTest, Protocol
from clinworld.knowledge.rule_search import find_crossing, find_facts
from clinworld.knowledge.rules import Boundary, Undecided, boundary_facts, facts_of, first_rule, holds

pytestmark = pytest.mark.rows

FEWEST_PROTOCOLS = 40
TITRATION_CLASSES, TITRATION_RULES, GATES = 31, 227, 8
READ_BY_SCORE = {"consciousness", "is_on_oxygen"}  # parts of the early warning score, which rules look at as one number

each_protocol = pytest.mark.parametrize("name", sorted(PROTOCOLS))


def test_package_holds_the_rules_it_promises() -> None:
    titration = [protocol for protocol in PROTOCOLS.values() if protocol.kind == "titration" and not protocol.subject.is_all]
    assert len(PROTOCOLS) >= FEWEST_PROTOCOLS
    assert len(titration) == TITRATION_CLASSES
    assert sum(len(protocol.rules) for protocol in titration) == TITRATION_RULES
    assert len(PROTOCOLS["before_any_change"].rules) == GATES


def test_no_protocol_claims_a_clinical_review() -> None:
    assert {protocol.clinical_review for protocol in PROTOCOLS.values()} == {"none"}


@pytest.mark.slow
def test_protocols_of_the_package_have_no_finding() -> None:
    assert [str(finding) for finding in check_protocols(KNOWLEDGE)] == []


TRUTH = {"at_least": (False, True, True), "above": (False, False, True), "at_most": (True, True, False), "below": (True, False, False)}


def truth(boundary: Boundary) -> tuple[bool, bool, bool]:
    """What the comparison must be just below, at and just above its threshold."""
    match boundary.comparison:
        case NumberTest(_, op, _):
            return TRUTH[op]
        case Between(_, low, _):
            return (False, True, True) if boundary.at == low else (True, False, False)


@each_protocol
def test_every_comparison_turns_exactly_at_its_threshold(name: str) -> None:
    for rule in PROTOCOLS[name].rules:
        for boundary in boundary_facts(rule.when, SHAPES):
            around = (boundary.below, boundary.at, boundary.above)
            found = tuple(holds(boundary.comparison, {boundary.comparison.fact: value, **boundary.others}) for value in around)
            assert found == truth(boundary), (rule.id, boundary)


@each_protocol
def test_crossing_every_threshold_turns_its_rule_for_some_patient(name: str) -> None:
    for rule in PROTOCOLS[name].rules:
        turns: Counter[tuple[str, str]] = Counter()
        for boundary in boundary_facts(rule.when, SHAPES):
            threshold = (boundary.comparison.fact, "".join(boundary.others) or str(boundary.at))
            sides = find_crossing(rule.when, boundary, SHAPES)
            turns[threshold] += sides is not None
            if sides is not None:
                low, high = sides
                assert {fact for fact in low if low[fact] != high[fact]} == {boundary.comparison.fact}
                assert {holds(rule.when, low), holds(rule.when, high)} == {True, False}, (rule.id, threshold)
        assert not [threshold for threshold, times in turns.items() if times == 0], rule.id


def reaching(protocol: Protocol, index: int) -> dict[str, object] | None:
    rules = protocol.rules
    found = find_facts(AllOf((rules[index].when, *(Not(rule.when) for rule in rules[:index]))), SHAPES)
    return None if found is None else dict(found)


@each_protocol
def test_every_rule_decides_for_some_patient(name: str) -> None:
    protocol = PROTOCOLS[name]
    for index, rule in enumerate(protocol.rules):
        facts = reaching(protocol, index)
        assert facts is not None, rule.id
        assert first_rule(protocol, facts) == rule  # type: ignore[arg-type]  # values come from find_facts


@each_protocol
def test_taking_a_fact_away_never_lets_a_later_rule_decide(name: str) -> None:
    protocol = PROTOCOLS[name]
    asks_for_unknown = "missing" in repr(protocol.rules).casefold()
    for index, rule in enumerate(protocol.rules):
        facts = reaching(protocol, index)
        assert facts is not None
        for fact in facts:
            less = {other: value for other, value in facts.items() if other != fact}
            found = first_rule(protocol, less)  # type: ignore[arg-type]  # values come from find_facts
            if isinstance(found, Undecided):
                assert rule in found.rules or asks_for_unknown
                assert found.missing
            elif not asks_for_unknown:
                assert found == rule, (rule.id, fact)


@each_protocol
def test_no_increase_for_a_missed_target_stands_before_a_safety_reduction(name: str) -> None:
    rules = PROTOCOLS[name].rules
    raised = [index for index, rule in enumerate(rules) if rule.then == "uptitrate" and rule.stage == "target_missed"]
    reduced = [index for index, rule in enumerate(rules) if rule.then == "downtitrate" and rule.stage == "safety"]
    assert not raised or not reduced or max(reduced) < min(raised)


@each_protocol
def test_tiers_are_read_from_the_most_urgent_down(name: str) -> None:
    protocol = PROTOCOLS[name]
    if protocol.kind != "triage" or protocol.subject.is_all:
        return
    *told, rest = protocol.rules  # the last takes whatever none of the others explains
    assert rest.id.endswith("_not_explained")
    urgency = [TIERS.index(rule.then) for rule in told]
    assert urgency == sorted(urgency)
    assert set(urgency) == set(range(len(TIERS)))
    assert rest.then not in ("ed_now", "watchful_waiting")


# -- what the reader refuses --------------------------------------------------------------------------------------------

UNREADABLE = [
    (("id: sample_titration", "id: other"), "line 1, id|the id is the file's name"),
    (("kind: titration", "kind: titrtion"), "'titrtion'|allowed: titration|'titration'"),
    (("clinical_review: none", "clinical_review: maybe"), "'maybe'|signed"),
    (("subject: {drugs", "subject: {drug"), "line 5, subject.drug|Did you mean 'drugs'"),
    (("[metformin]", "metformin"), "'metformin'|a list of ids, or all"),
    (("subject: {drugs: [metformin]}", "subject: {drugs: [metformin]}\nasks: {en: [A], zh: [B]}"), "asks|a triage protocol has questions"),
    (("    stage: safety\n", ""), "rules[0]|no key 'stage'"),
    (("stage: safety", "stage: safty"), "Did you mean 'safety'"),
    (("then: downtitrate", "then: downtitrte"), "rules[0]|'downtitrte'|'downtitrate'"),
    (("because:", "becuase:"), "line 12|'becuase'|Did you mean 'because'"),
    (("what: {en: Stop, zh", "what: {en: Stop, cn"), "rules[0].what.cn|allowed: en, zh"),
    (("status: authored", "status: autored"), "'autored'|'authored'"),
    (("any: [", "ane: ["), "line 9, rules[0].when.ane|Did you mean 'any'"),
    (("fact: egfr, below: 30", "fact: egfr, bellow: 30"), "rules[0].when.any[0].bellow|Did you mean 'below'"),
    (("below: 30", "below: thirty"), "'thirty'|a number is expected"),
    (("below: 30", "below: {fct: dose}"), "rules[0].when.any[0].below.fct|Did you mean 'fact'"),
    (("below: 30", "below: 30, above: 20"), "2 operators|exactly one"),
    (("fact: egfr, below: 30", "fact: egfr"), "0 operators|exactly one"),
    (("{fact: has_aki, is: true}", "{has_aki: true}"), "no key 'has_aki' here"),
    (("{fact: has_aki, is: true}", "{all: [{fact: has_aki, is: true}]}"), "at least two predicates"),
    (("{fact: has_aki, is: true}", "{fact: egfr, below: 30}"), "the same predicate again"),
    (("is: true", "missing: false"), "only `missing: true`"),
    (("between: [30, 150]", "between: [30]"), "a list [low, high]"),
    (("between: [30, 150]", "between: [150, 30]"), "low is less than high"),
    (("is: extended_release", "one_of: [extended_release]"), "at least two choices|Use `is`"),
    (("is: extended_release", "one_of: extended_release"), "at least two choices"),
    (("is: extended_release", "is: 3"), "text is expected"),
    (("when: {any", "when: [any"), "not YAML"),
]


@pytest.mark.parametrize(("swap", "message"), UNREADABLE, ids=[row[1] for row in UNREADABLE])
def test_mistake_in_a_protocol_is_named_with_its_place(swap: tuple[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError) as caught:
        sample(tmp_path, swap)
    assert "sample_titration.yaml" in str(caught.value)
    for part in message.split("|"):
        assert part in str(caught.value)


BAD_FACTS = [
    ({"kind": "number"}, "ucum|a number has unit, decimals and bounds"),
    ({"ucum": "mg"}, "ucum|a flag or choice none"),
    ({"choices_en": "Yes"}, "choices_en|2 phrases"),
    ({"choices": "a|b"}, "choices|empty for a number or flag"),
    ({"kind": "choice", "choices": "a|b|c"}, "choices_en|3 phrases"),
    ({"kind": "choice", "choices": "@drugs"}, "choices_en|0 phrases"),
    ({"kind": "flagg"}, "'flagg'|'flag'"),
    (
        {"kind": "number", "ucum": "mg", "decimals": "0", "low": "5", "high": "5", "choices_en": "", "choices_zh": ""},
        "high|more than low",
    ),
]


@pytest.mark.parametrize(("cells", "message"), BAD_FACTS, ids=[row[1] for row in BAD_FACTS])
def test_mistake_in_a_rule_fact_is_named_with_its_place(cells: dict[str, str], message: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        fact_row(**cells)
    for part in ("rule_facts.csv, line 9", *message.split("|")):
        assert part in str(caught.value)


# -- what the checks find -----------------------------------------------------------------------------------------------

Book = Callable[[Path], RuleBook]


def swapped(*swaps: tuple[str, str]) -> Book:
    """A book of the sample protocol alone, swapped in places."""
    return lambda folder: RuleBook({"sample_titration": sample(folder, *swaps)})


def beside(*swaps: tuple[str, str]) -> Book:
    """The sample protocol and, beside it, the same with swaps."""
    return lambda folder: RuleBook({"first": sample(folder), "sample_titration": sample(folder, *swaps)})


def with_fact(name: str = "sample", /, **cells: str) -> Book:
    """The sample protocol and one more rule fact."""
    return lambda folder: RuleBook({"s": sample(folder)}, {**KNOWLEDGE.rule_facts, name: fact_row(**{"id": name, **cells})})


ADDED_RULE_IDS = (("sample_stop", "other_stop"), ("sample_raise", "other_raise"), ("sample_keep", "other_keep"))
FOUND = [
    (
        "fact_resolves",
        swapped(("fact: egfr, below", "fact: egfrr, below")),
        "rules[0] (sample_stop), when: found 'egfrr'; an id of an analyte",
    ),
    ("fact_resolves", swapped(("{fact: hba1c_target}", "{fact: hba1c_targt}")), "nearest: 'hba1c_target'"),
    ("operator_fits", swapped(("has_aki, is: true", "has_aki, above: 1")), "has_aki is a flag"),
    ("operator_fits", swapped(("has_aki, is: true", "has_aki, is: severe")), "'severe'; true or false"),
    ("operator_fits", swapped(("egfr, below: 30", "egfr, is: true")), "egfr is a number"),
    ("operator_fits", swapped(("formulation, is: extended_release", "formulation, is: true")), "a choice"),
    ("operator_fits", swapped(("{fact: hba1c_target}", "{fact: top_dose}")), "top_dose in {dose}; a number in %"),
    ("operator_fits", swapped(("{fact: hba1c_target}", "{fact: has_aki}")), "has_aki in flag; a number in %"),
    ("threshold_in_domain", swapped(("egfr, below: 30", "egfr, below: 300")), "found 300; 2 to 160"),
    ("threshold_in_domain", swapped(("between: [30, 150]", "between: [30, 165]")), "found 165"),
    ("threshold_prints", swapped(("egfr, below: 30", "egfr, below: 30.5")), "at most 0 decimals"),
    ("threshold_prints", swapped(("[metformin]", "[metformin, levothyroxine]")), "2 dose units"),
    ("choice_exists", swapped(("is: extended_release", "is: extended_relase")), "nearest: 'extended_release'"),
    ("choice_exists", swapped(("{fact: formulation, is: extended_release}", "{fact: drug, is: metfromin}")), "nearest: 'metformin'"),
    ("choice_exists", swapped(("{fact: formulation, is: extended_release}", "{fact: proposed_rule, is: sample_stp}")), "'sample_stop'"),
    ("choice_exists", with_fact(kind="choice", choices="@drug", choices_en="", choices_zh=""), "rule_facts.csv (sample), choices"),
    ("subject_exists", swapped(("[metformin]", "[metfromin]")), "nearest: 'metformin'"),
    (
        "subject_exists",
        lambda folder: RuleBook({"triage": PROTOCOLS["triage_chest_pain"]}, symptoms={"chest_pian": 1}),
        "nearest: 'chest_pian'",
    ),
    (
        "subject_exists",
        lambda folder: RuleBook(dict.fromkeys(("a", "b"), PROTOCOLS["triage_chest_pain"])),
        "protocols/a.yaml has it already",
    ),
    ("subject_exists", lambda folder: RuleBook({"lab": PROTOCOLS["potassium_change"]}, analytes={}), "'potassium'"),
    ("rule_id_stands_once", beside(*ADDED_RULE_IDS[1:]), "rules[0] (sample_stop), id"),
    ("drug_has_one_protocol", beside(*ADDED_RULE_IDS), "protocols/first.yaml names it already"),
    ("drug_has_one_protocol", swapped(("[metformin]", "[gliclazide]")), "no glimepiride; every drug of the class sulfonylurea"),
    (
        "rule_is_reachable",
        swapped(("{fact: egfr, between: [30, 150]}", "{any: [{fact: egfr, below: 30}, {fact: has_aki, is: true}]}")),
        "what sample_stop says already",
    ),
    ("rule_is_reachable", swapped(("egfr, between: [30, 150]", "egfr, at_most: 20")), "rules[2] (sample_keep), when: found no patient"),
    (
        "threshold_matters",
        swapped(("{fact: egfr, between: [30, 150]}", "{all: [{fact: egfr, above: 60}, {fact: egfr, above: 40}]}")),
        "egfr against 40",
    ),
    ("both_languages_native", swapped(("en: Stop, zh: ", "en: Stop, zh: stop now ")), "no English phrase"),
    ("source_exists", swapped(("source: authored", "source: autored")), "nearest: 'authored'"),
    (
        "status_not_raised",
        swapped(("status: authored", "status: recalled")),
        "found recalled; authored, as its source authored is authored",
    ),
    ("fact_stands_once", with_fact("egfr"), "a row of analytes has it already"),
]


@pytest.mark.parametrize(("check", "book", "place"), FOUND, ids=[f"{row[0]}-{row[2]}" for row in FOUND])
def test_check_finds_what_is_broken_and_names_it(check: str, book: Book, place: str, tmp_path: Path) -> None:
    findings = [finding for finding in check_protocols(book(tmp_path)) if finding.check == check]
    assert findings
    assert any(place in str(finding) for finding in findings), [str(finding) for finding in findings]


def test_sound_sample_has_no_finding(tmp_path: Path) -> None:
    assert [str(finding) for finding in check_protocols(swapped()(tmp_path))] == []
    assert [str(finding) for finding in check_protocols(with_fact()(tmp_path))] == []


def test_english_text_with_chinese_in_it_is_found(tmp_path: Path) -> None:
    protocol = sample(tmp_path)
    words = protocol.rules[0].what.zh
    first = replace(protocol.rules[0], what=Wording(words, "stop"))
    broken = replace(protocol, rules=(first, *protocol.rules[1:]))
    allowed = {finding.allowed for finding in check_protocols(RuleBook({"sample_titration": broken}))}
    assert allowed == {"English in the English text", "Chinese in the Chinese text"}


def test_every_rule_fact_is_looked_at_by_some_rule_or_drug() -> None:
    used = {fact for protocol in PROTOCOLS.values() for rule in protocol.rules for fact in facts_of(rule.when)}
    for drug in KNOWLEDGE.drugs.values():
        used |= {entry.state for entry in drug.contraindications}
        used |= {fact for entry in drug.monitoring if entry.when is not None for fact in facts_of(entry.when)}
    assert set(KNOWLEDGE.rule_facts) - used == READ_BY_SCORE
