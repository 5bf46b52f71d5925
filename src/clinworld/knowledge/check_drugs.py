"""What a drug file must agree with: its ladder, the items it moves, and what its harms and limits are."""

from collections.abc import Iterator

from clinworld.core.units import readable_unit
from clinworld.knowledge.check_conditions import check_limits
from clinworld.knowledge.drug_rows import DOSES_A_DAY
from clinworld.knowledge.faults import find_unknown
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.places import limits_of, place_of
from clinworld.knowledge.rows import Analyte, DrugEffect, Stream
from clinworld.knowledge.rule_facts import known_facts
from clinworld.knowledge.rules import facts_of
from clinworld.schema.finding import Finding


def check_indications(knowledge: Knowledge) -> Iterator[Finding]:
    """A drug is indicated for conditions that exist, at a top dose on its ladder; off-label uses are among them."""
    for key, drug in knowledge.drugs.items():
        place = place_of(knowledge, "drugs", key, "indications")
        named = tuple(condition for condition, _ in drug.indications)
        if not named:
            yield Finding("indication_exists", place, "no indication", "at least one condition")
        yield from find_unknown("indication_exists", place, named, knowledge.conditions, "a condition")
        yield from find_unknown(
            "indication_exists", place_of(knowledge, "drugs", key, "off_label"), drug.off_label, named, "an indication of the drug"
        )
        for condition, top in drug.indications:
            if top not in drug.ladder:
                yield Finding("indication_exists", f"{place} ({condition})", f"{top:g}", f"a dose of the ladder: {_doses(drug.ladder)}")


def check_ladders(knowledge: Knowledge) -> Iterator[Finding]:
    """A ladder has doses above zero that rise, and a waiting time between steps where there is more than one."""
    for key, drug in knowledge.drugs.items():
        place = place_of(knowledge, "drugs", key, "ladder")
        full = ", ".join(f"{dose:g}" for dose in drug.ladder)
        if not drug.ladder:
            yield Finding("ladder_rises", place, "no dose", "at least one dose")
        for number, (low, high) in enumerate(zip((0.0, *drug.ladder), drug.ladder, strict=False)):
            if high <= low:
                yield Finding(
                    "ladder_rises",
                    f"{place}[{number}]",
                    f"{high:g} after {low:g}",
                    f"doses that rise from above 0; the full ladder: {full}",
                )


def check_most_a_day(knowledge: Knowledge) -> Iterator[Finding]:
    """No dose of a ladder, as often as it is taken, is more in a day than the label knows; one that the label knows is of a day's doses."""
    for key, drug in knowledge.drugs.items():
        if drug.most_a_day is None:
            continue
        place = place_of(knowledge, "drugs", key, "most_a_day")
        times = DOSES_A_DAY.get(drug.frequency)
        if times is None:
            yield Finding(
                "dose_is_possible", place, f"with frequency {drug.frequency}", f"a frequency by the day: {', '.join(DOSES_A_DAY)}"
            )
        elif (top := max(drug.ladder, default=0.0) * times) > drug.most_a_day:
            found = f"{top:g} {readable_unit(drug.dose_unit)} a day on the top dose"
            yield Finding("dose_is_possible", place, found, f"at most {drug.most_a_day:g}")


def check_effects(knowledge: Knowledge) -> Iterator[Finding]:
    """An effect belongs to a dose of the ladder, has a possible size, in the item's own unit, pp or %, and stands once."""
    for key, drug in knowledge.drugs.items():
        seen: set[tuple[str, float | None, str]] = set()
        for number, effect in enumerate(drug.effects):
            place = place_of(knowledge, "drugs", key, f"effects[{number}] ({effect.item})")
            if effect.dose is not None and effect.dose not in drug.ladder:
                full = ", ".join(f"{dose:g}" for dose in drug.ladder)
                yield Finding("effect_is_usable", f"{place}, dose", f"{effect.dose:g}", f"a dose of the ladder: {full}")
            row = knowledge.analytes.get(effect.item) or knowledge.streams.get(effect.item)
            units = ("%", "pp" if row is not None and row.ucum == "%" else row.ucum if row is not None else "")
            if effect.unit not in units:
                yield Finding("effect_is_usable", f"{place}, unit", effect.unit, " or ".join(units))
            elif allowed := _possible_size(knowledge, row, effect):
                yield Finding("effect_is_usable", f"{place}, mean", f"{effect.mean:g} {readable_unit(effect.unit)}", allowed)
            address = (effect.item, effect.dose, effect.population)
            if address in seen:
                yield Finding("effect_is_usable", place, "the same item, dose and population again", "each stands once")
            seen.add(address)


def _possible_size(knowledge: Knowledge, row: Analyte | Stream | None, effect: DrugEffect) -> str:
    """What the mean of an effect may be where it is something else; "" where it may be what it is."""
    if isinstance(row, Stream) and row.role == "weight":
        most = knowledge.parameter(f"effects.most_weight_change_{'pct' if effect.unit == '%' else 'kg'}")
        return "" if abs(effect.mean) <= most else f"{-most:g} to {most:g} {effect.unit} of body weight"
    if effect.unit == "%":
        return "" if effect.mean > -100 else "more than -100 %: nothing loses more than all of it"
    if row is None or abs(effect.mean) <= row.hard_high - row.hard_low:
        return ""
    return f"at most {row.hard_high - row.hard_low:g}, from one bound of {row.id} to the other"


def check_harms(knowledge: Knowledge) -> Iterator[Finding]:
    """An item as adverse effect moves up or down, a symptom does not; shares and days rise; each stands once."""
    for key, drug in knowledge.drugs.items():
        told = [(entry.symptom or entry.item, entry.moves) for entry in drug.adverse_effects]
        for number, entry in enumerate(drug.adverse_effects):
            place = place_of(knowledge, "drugs", key, f"adverse_effects[{number}] ({told[number][0]})")
            if bool(entry.item) != bool(entry.moves):
                yield Finding("harm_is_whole", f"{place}, moves", repr(entry.moves), "up or down for an item, nothing for a symptom")
            for low, high, cell in (
                (entry.share_low, entry.share_high, "share_high"),
                (entry.onset_low_days, entry.onset_high_days, "onset_days"),
            ):
                if low is not None and high is not None and low > high:
                    yield Finding("harm_is_whole", f"{place}, {cell}", f"{high:g}", f"at least {low:g}")
            if told[number] in told[:number]:
                yield Finding("harm_is_whole", place, "the same harm again", "each stands once")


def check_contraindications(knowledge: Knowledge) -> Iterator[Finding]:
    """An item forbids a drug on one side of a limit inside its bounds; a condition or a state does so without one."""
    for key, drug in knowledge.drugs.items():
        for number, entry in enumerate(drug.contraindications):
            about = entry.condition or entry.state or entry.item
            place = place_of(knowledge, "drugs", key, f"contraindications[{number}] ({about})")
            limits = limits_of(entry)
            if entry.state:
                flags = [name for name, fact in knowledge.rule_facts.items() if fact.kind == "flag"]
                yield from find_unknown("contraindication_is_whole", f"{place}, state", (entry.state,), flags, "a flag of rule_facts.csv")
            if len(limits) != bool(entry.item):
                yield Finding("contraindication_is_whole", place, f"{len(limits)} limits", "one limit for an item, none without")
            yield from check_limits(knowledge, "contraindication_is_whole", place, entry.item, limits)


def check_monitoring(knowledge: Knowledge) -> Iterator[Finding]:
    """What monitoring depends on is something a rule may look at."""
    facts = known_facts(knowledge)
    for key, drug in knowledge.drugs.items():
        for number, entry in enumerate(drug.monitoring):
            if entry.when is not None:
                place = place_of(knowledge, "drugs", key, f"monitoring[{number}] ({entry.item}), when")
                yield from find_unknown("monitoring_is_decidable", place, facts_of(entry.when), facts, "a fact")


def check_interactions(knowledge: Knowledge) -> Iterator[Finding]:
    """A drug interacts with another, or with a class that some drug is of."""
    classes = {drug.drug_class: None for drug in knowledge.drugs.values()}
    for key, drug in knowledge.drugs.items():
        for number, entry in enumerate(drug.interactions):
            place = place_of(knowledge, "drugs", key, f"interactions[{number}] ({entry.drug or entry.drug_class})")
            if entry.drug == key:
                yield Finding("interaction_exists", place, "the drug itself", "another drug")
            if entry.drug_class:
                yield from find_unknown("interaction_exists", place, (entry.drug_class,), classes, "a class of drugs")


def _doses(ladder: tuple[float, ...]) -> str:
    return ", ".join(f"{dose:g}" for dose in ladder)
