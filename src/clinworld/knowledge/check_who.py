"""Sex and age: whatever a row says of one sex or age can be true of somebody who has the condition."""

from collections.abc import Iterator

from clinworld.knowledge.check_conditions import described
from clinworld.knowledge.condition_rows import Condition, Presentation
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.places import place_of, rows_in_question
from clinworld.knowledge.shapes import AGE_MAX
from clinworld.schema.finding import Finding


def check_ages(knowledge: Knowledge) -> Iterator[Finding]:
    """An age range starts before it ends."""
    for kind in ("events", "symptoms", "conditions"):
        for key, row in knowledge.table(kind).items():
            if row.age_low is not None and row.age_high is not None and row.age_low >= row.age_high:
                yield Finding("ages_in_order", place_of(knowledge, kind, key, "age_high"), str(row.age_high), f"above {row.age_low}")


def check_claims(knowledge: Knowledge) -> Iterator[Finding]:
    """A season has both its months, and a symptom that claims a change of weight says over how many days."""
    for key, event in rows_in_question(knowledge, "events"):
        if (event.first_month is None) != (event.last_month is None):
            yield Finding("season_is_whole", place_of(knowledge, "events", key, "last_month"), "one month", "both months, or none")
    for key, symptom in rows_in_question(knowledge, "symptoms"):
        claims = symptom.weight_low_kg is not None or symptom.weight_high_kg is not None
        if claims != (symptom.weight_days is not None):
            found = "a change without days" if claims else "days without a change"
            yield Finding("claim_is_whole", place_of(knowledge, "symptoms", key, "weight_days"), found, "days with a change, or neither")


def check_sexes(knowledge: Knowledge) -> Iterator[Finding]:
    """Findings, shares and presentations of one sex, and symptoms only one sex has, stand in no condition of the other."""
    for key, condition in described(knowledge):
        if not condition.sex:
            continue
        told = [(f"findings ({entry.item})", entry.sex) for entry in condition.findings]
        told += [(f"prevalence[{number}]", entry.sex) for number, entry in enumerate(condition.prevalence)]
        told += [(f"presentations ({entry.id})", entry.sex) for entry in condition.presentations]
        names = [entry.symptom for entry in condition.symptoms if entry.symptom in knowledge.symptoms]
        told += [(f"symptoms ({name})", knowledge.symptoms[name].sex) for name in names]
        for cell, sex in told:
            if sex and sex != condition.sex:
                yield Finding(
                    "limits_agree", place_of(knowledge, "conditions", key, cell), f"sex {sex}", f"only sex {condition.sex} has it"
                )


def check_presentation_limits(knowledge: Knowledge) -> Iterator[Finding]:
    """A presentation's ages lie inside the condition's, and everyone it is told of can have its symptoms."""
    for key, condition in described(knowledge):
        low, high = _ages(condition)
        for presentation in condition.presentations:
            place = place_of(knowledge, "conditions", key, f"presentations ({presentation.id})")
            first, last = _ages(presentation, low, high)
            if not low <= first < last <= high:
                yield Finding("limits_agree", place, f"ages {first} to {last}", f"rising and inside {low} to {high}")
            sex = presentation.sex or condition.sex
            for name in presentation.course:
                row = knowledge.symptoms.get(name)
                if row is None:
                    continue
                if row.sex and row.sex != sex:
                    yield Finding("limits_agree", place, f"{name} of sex {row.sex} in {sex or 'both sexes'}", f"sex: {row.sex}")
                if (row.age_low or 0) > first or (AGE_MAX if row.age_high is None else row.age_high) < last:
                    found = f"{name} at ages {first} to {last}"
                    yield Finding("limits_agree", place, found, f"age_years inside {row.age_low or 0} to {row.age_high or AGE_MAX}")


def check_prevalence(knowledge: Knowledge) -> Iterator[Finding]:
    """Shares of the population are told for ages inside the condition's limits, and once for each sex and age."""
    for key, condition in described(knowledge):
        low, high = _ages(condition)
        for number, entry in enumerate(condition.prevalence):
            place = place_of(knowledge, "conditions", key, f"prevalence[{number}]")
            found = f"ages {entry.age_low} to {entry.age_high}"
            if not low <= entry.age_low < entry.age_high <= high:
                yield Finding("prevalence_told_once", place, found, f"rising and inside {low} to {high}")
            for other in condition.prevalence[:number]:
                is_same_sex = not entry.sex or not other.sex or entry.sex == other.sex
                if is_same_sex and other.age_low <= entry.age_high and entry.age_low <= other.age_high:
                    allowed = f"apart from {other.age_low} to {other.age_high}, told already"
                    yield Finding("prevalence_told_once", place, found, allowed)


def _ages(row: Condition | Presentation, low: int = 0, high: int = AGE_MAX) -> tuple[int, int]:
    return low if row.age_low is None else row.age_low, high if row.age_high is None else row.age_high
