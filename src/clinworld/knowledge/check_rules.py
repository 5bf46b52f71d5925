"""What must agree in protocols: facts, operators and thresholds fit each other, every rule can be reached, every drug has one protocol."""

from collections.abc import Collection, Iterable, Iterator

from clinworld.core.units import from_ticks, to_ticks
from clinworld.knowledge.cells import range_text
from clinworld.knowledge.check_references import weaker_statuses
from clinworld.knowledge.check_rule_texts import check_rule_languages
from clinworld.knowledge.faults import find_unknown
from clinworld.knowledge.rows import STATUSES
from clinworld.knowledge.rule_facts import RuleKnowledge, known_facts
from clinworld.knowledge.rule_places import fact_place, protocol_place, rule_place
from clinworld.knowledge.rule_rows import (
    AllOf,
    Between,
    Comparison,
    FactRef,
    IsTest,
    Missing,
    Not,
    NumberTest,
    OneOf,
    Protocol,
    Rule,
    RuleFact,
)
from clinworld.knowledge.rule_search import Steps, TooManySteps, find_crossing, find_facts
from clinworld.knowledge.rules import boundary_facts, comparisons
from clinworld.schema.finding import Finding

DOSE_UNIT = "{dose}"


def check_protocols(knowledge: RuleKnowledge) -> Iterator[Finding]:
    """All findings about protocols and rule facts. Whether a rule can be reached is looked at only where its facts are sound."""
    yield from check_fact_ids(knowledge)
    yield from check_rule_sources(knowledge)
    yield from check_subjects(knowledge)
    yield from check_rule_ids(knowledge)
    yield from check_drugs_covered(knowledge)
    yield from check_rule_languages(knowledge)
    shapes = known_facts(knowledge)
    rules = {rule.id: None for protocol in knowledge.protocols.values() for rule in protocol.rules}
    for protocol in _protocols_in_question(knowledge):
        findings = tuple(check_comparisons(knowledge, protocol, shapes, rules))
        yield from findings or check_reachable(knowledge, protocol, shapes)


def _protocols_in_question(knowledge: RuleKnowledge) -> Iterator[Protocol]:
    """The protocols that added rows can have made wrong: the added ones, and without added rows all.

    A protocol names facts, drugs, choices and rules by ids, and an added row takes no id that a row of the package has.
    """
    names = knowledge.added.get("protocols", {}) if knowledge.added else knowledge.protocols
    return (knowledge.protocols[name] for name in names)


def check_fact_ids(knowledge: RuleKnowledge) -> Iterator[Finding]:
    """A rule fact takes the id of no analyte, stream or finding, and a choice of ids names a kind that has ids."""
    kinds = ("rules", "drugs", "analytes", "streams", "findings", "symptoms")
    for name, fact in knowledge.rule_facts.items():
        for kind, rows in (("analytes", knowledge.analytes), ("streams", knowledge.streams), ("findings", knowledge.findings)):
            if name in rows:
                taken = f"an id of its own: a row of {kind} has it already"
                yield Finding("fact_stands_once", fact_place(knowledge, name, "id"), repr(name), taken)
        if fact.of_kind:
            place = fact_place(knowledge, name, "choices")
            yield from find_unknown("choice_exists", place, (f"@{fact.of_kind}",), [f"@{kind}" for kind in kinds], "a kind")


def check_rule_sources(knowledge: RuleKnowledge) -> Iterator[Finding]:
    """Sources exist, and neither protocol, rule nor rule fact claims a better status than its source."""
    rows: list[tuple[str, Protocol | Rule | RuleFact]] = [
        (fact_place(knowledge, name), fact) for name, fact in knowledge.rule_facts.items()
    ]
    for name, protocol in knowledge.protocols.items():
        rows.append((protocol_place(knowledge, name), protocol))
        rows.extend((rule_place(knowledge, protocol, index), rule) for index, rule in enumerate(protocol.rules))
    for place, row in rows:
        source = knowledge.sources.get(row.source)
        if source is None:
            yield from find_unknown("source_exists", f"{place}, source", (row.source,), knowledge.sources, "a source")
        elif row.status != "derived" and STATUSES.index(row.status) < STATUSES.index(source.status):
            yield Finding("status_not_raised", f"{place}, status", row.status, weaker_statuses(source))


def check_subjects(knowledge: RuleKnowledge) -> Iterator[Finding]:
    """Drugs, items and complaints that protocols are about exist; a complaint has one protocol."""
    items = [name for name, shape in known_facts(knowledge).items() if shape.kind == "number" or name in knowledge.findings]
    owner: dict[str, str] = {}  # complaint → its protocol
    for name, protocol in knowledge.protocols.items():
        place = protocol_place(knowledge, name, "subject")
        subject = protocol.subject
        complaints = (subject.complaint,) if subject.complaint else ()
        yield from find_unknown("subject_exists", place, subject.drugs, knowledge.drugs, "a drug")
        yield from find_unknown("subject_exists", place, subject.items, items, "an analyte, stream, finding or number of rule_facts")
        yield from find_unknown("subject_exists", place, complaints, knowledge.symptoms, "a symptom")
        for complaint in complaints:
            if complaint in owner:
                taken = f"a complaint of its own: {protocol_place(knowledge, owner[complaint])} has it already"
                yield Finding("subject_exists", place, repr(complaint), taken)
            owner.setdefault(complaint, name)


def check_rule_ids(knowledge: RuleKnowledge) -> Iterator[Finding]:
    """A rule's id stands once in all protocols."""
    owner: dict[str, str] = {}
    for protocol in knowledge.protocols.values():
        for index, rule in enumerate(protocol.rules):
            place = rule_place(knowledge, protocol, index)
            if rule.id in owner:
                yield Finding("rule_id_stands_once", f"{place}, id", repr(rule.id), f"an id of its own: {owner[rule.id]} has it already")
            owner.setdefault(rule.id, place)


def check_drugs_covered(knowledge: RuleKnowledge) -> Iterator[Finding]:
    """No drug stands on two titration protocols, and when one drug of a class stands on one, so does every drug of the class.

    An added drug may stand on none: no folder outside can put it on a protocol of the package.
    """
    owner: dict[str, str] = {}
    covered: dict[str, str] = {}  # drug class → a protocol that covers one of it
    for name, protocol in knowledge.protocols.items():
        if protocol.kind != "titration":
            continue
        for drug in protocol.subject.drugs:
            if drug in owner:
                taken = f"one titration protocol for a drug: {protocol_place(knowledge, owner[drug])} names it already"
                yield Finding("drug_has_one_protocol", protocol_place(knowledge, name, "subject"), repr(drug), taken)
            owner.setdefault(drug, name)
            if drug in knowledge.drugs:
                covered.setdefault(knowledge.drugs[drug].drug_class, name)
    for drug, row in knowledge.drugs.items():
        if drug not in owner and row.drug_class in covered and drug not in knowledge.added.get("drugs", {}):
            place = protocol_place(knowledge, covered[row.drug_class], "subject")
            yield Finding("drug_has_one_protocol", place, f"no {drug}", f"every drug of the class {row.drug_class}, or none")


def check_comparisons(
    knowledge: RuleKnowledge, protocol: Protocol, shapes: dict[str, RuleFact], rules: Collection[str]
) -> Iterator[Finding]:
    """Facts exist, operators fit their kind, thresholds lie in what the fact can be and print as written, choices exist."""
    for index, rule in enumerate(protocol.rules):
        place = f"{rule_place(knowledge, protocol, index)}, when"
        for leaf in comparisons(rule.when):
            names = (leaf.fact, leaf.value.fact) if isinstance(leaf, NumberTest) and isinstance(leaf.value, FactRef) else (leaf.fact,)
            lacking = tuple(find_unknown("fact_resolves", place, names, shapes, "an analyte, stream, finding or rule fact"))
            yield from lacking or _check_comparison(knowledge, protocol, leaf, shapes, rules, f"{place} ({leaf.fact})")


def _check_comparison(
    knowledge: RuleKnowledge, protocol: Protocol, leaf: Comparison, shapes: dict[str, RuleFact], rules: Collection[str], place: str
) -> Iterator[Finding]:
    shape = shapes[leaf.fact]
    fits = {"number": (NumberTest, Between, Missing), "flag": (IsTest, Missing), "choice": (IsTest, OneOf, Missing)}[shape.kind]
    if not isinstance(leaf, fits):
        words = {"number": "at_least, above, at_most, below or between", "flag": "is: true or false", "choice": "is or one_of"}[shape.kind]
        yield Finding("operator_fits", place, _operator(leaf), f"{words}: {leaf.fact} is a {shape.kind}")
        return
    match leaf:
        case NumberTest(_, _, FactRef(other)):
            if shapes[other].kind != "number" or shapes[other].ucum != shape.ucum:
                yield Finding("operator_fits", place, f"{other} in {shapes[other].ucum or shapes[other].kind}", f"a number in {shape.ucum}")
        case NumberTest(_, _, float() | int() as value):
            yield from _check_thresholds(knowledge, protocol, shape, (value,), place)
        case Between(_, low, high):
            yield from _check_thresholds(knowledge, protocol, shape, (low, high), place)
        case IsTest(_, value):
            if isinstance(value, bool) != (shape.kind == "flag"):
                yield Finding("operator_fits", place, repr(value), f"{'true or false' if shape.kind == 'flag' else 'a choice'}")
            elif isinstance(value, str):
                yield from _check_choices(knowledge, shape, (value,), rules, place)
        case OneOf(_, choices):
            yield from _check_choices(knowledge, shape, choices, rules, place)


def _check_thresholds(
    knowledge: RuleKnowledge, protocol: Protocol, shape: RuleFact, limits: Iterable[float], place: str
) -> Iterator[Finding]:
    for limit in limits:
        if (shape.low is not None and limit < shape.low) or (shape.high is not None and limit > shape.high):
            yield Finding("threshold_in_domain", place, f"{limit:g}", f"{range_text(shape.low, shape.high)}, what {shape.id} can be")
        if float(from_ticks(to_ticks(limit, shape.decimals), shape.decimals)) != limit:
            yield Finding("threshold_prints", place, f"{limit:g}", f"at most {shape.decimals} decimals, as {shape.id} is printed")
    if shape.ucum == DOSE_UNIT:
        units = {knowledge.drugs[drug].dose_unit for drug in protocol.subject.drugs if drug in knowledge.drugs}
        if len(units) != 1:
            yield Finding("threshold_prints", place, f"{len(units)} dose units", "drugs of one dose unit, so that a dose can be named")


def _operator(leaf: Comparison) -> str:
    """The key of a comparison's operator."""
    if isinstance(leaf, NumberTest):
        return leaf.op
    return {Between: "between", IsTest: "is", OneOf: "one_of", Missing: "missing"}[type(leaf)]


def _check_choices(
    knowledge: RuleKnowledge, shape: RuleFact, choices: Iterable[str], rules: Collection[str], place: str
) -> Iterator[Finding]:
    known: Collection[str] = shape.choices
    if shape.of_kind:
        known = rules if shape.of_kind == "rules" else getattr(knowledge, shape.of_kind)
    yield from find_unknown("choice_exists", place, choices, known, f"a choice of {shape.id}")


def check_reachable(knowledge: RuleKnowledge, protocol: Protocol, shapes: dict[str, RuleFact]) -> Iterator[Finding]:
    """For every rule there is a patient whom no earlier rule takes, and for every threshold one to whom crossing it matters."""
    steps = Steps()
    for index in range(len(protocol.rules)):
        place = f"{rule_place(knowledge, protocol, index)}, when"
        try:
            yield from _check_rule(protocol, index, shapes, steps, place)
        except TooManySteps:
            allowed = f"rules for which a patient is found in {steps.most:,} steps"
            yield Finding("rule_can_be_checked", place, "more comparisons than can be tried together", allowed)
            return


def _check_rule(protocol: Protocol, index: int, shapes: dict[str, RuleFact], steps: Steps, place: str) -> Iterator[Finding]:
    rule = protocol.rules[index]
    twin = next((earlier for earlier in protocol.rules[:index] if earlier.when == rule.when), None)
    if twin is not None:
        yield Finding("rule_is_reachable", place, f"what {twin.id} says already", "a predicate of its own")
    elif find_facts(_taken_by(protocol.rules, index), shapes, steps=steps) is None:
        yield Finding("rule_is_reachable", place, "no patient is left for it by the rules before", "a patient whom it takes")
    idle: dict[str, bool] = {}  # threshold → whether crossing it changes the rule for no patient
    for boundary in boundary_facts(rule.when, shapes):
        against = " and ".join(boundary.others) or f"{boundary.at:g}"
        threshold = f"{boundary.comparison.fact} against {against}"
        idle[threshold] = idle.get(threshold, True) and find_crossing(rule.when, boundary, shapes, steps=steps) is None
    for threshold in (threshold for threshold, never in idle.items() if never):
        yield Finding("threshold_matters", place, threshold, "a threshold whose crossing changes the rule for some patient")


def _taken_by(rules: tuple[Rule, ...], index: int) -> AllOf:
    """True for the patients whom the rule at `index` is the first to take."""
    return AllOf((rules[index].when, *(Not(rule.when) for rule in rules[:index])))
