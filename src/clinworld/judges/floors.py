"""What each scored dimension is worth to an answer that looks at nothing, and at most: its floor and its ceiling on these very items.

Both come from the judges themselves. The floor is the best of the constants a judge declares, joined as the dimension is; the ceiling
is the judge's own right answer. Called when a board is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from clinworld.judges.declares import Constant, Control
from clinworld.judges.mount import find_judge, verdict_names, why_not
from clinworld.judges.subject import Subject, gold_kind, read_strata
from clinworld.schema.answer import Answer, RoundAnswer
from clinworld.schema.pack import Dimension, JudgeUse, Pack

STRATUM = "mean_by_"


@dataclass(frozen=True, slots=True)
class Floor:
    """The value of the best constant and of the right answer; None where the items leave it unmeasured or no constant is declared."""

    value: float | None
    how: str
    ceiling: float | None
    ceiling_how: str


def compute_floors(subjects: Sequence[Subject], pack: Pack) -> dict[str, Floor]:
    """Floor and ceiling of every dimension of the pack, by verdict name. One subject an item is used; what it answered is not."""
    one_each = list({subject.item.item_id: subject for subject in subjects}.values())
    one_each.sort(key=lambda subject: subject.item.item_id)
    floors: dict[str, Floor] = {}
    for dimension in pack.dimensions:
        use = next((use for use in pack.judges if dimension.verdict in verdict_names(use)), None)
        floors[dimension.verdict] = _floor(one_each, dimension, use) if use else Floor(None, "no judge gives it", None, "")
    return floors


def _floor(subjects: Sequence[Subject], dimension: Dimension, use: JudgeUse) -> Floor:
    declares = find_judge(use.judge).DECLARES
    mounted = [subject for subject in subjects if not why_not(declares, gold_kind(subject.gold), subject.episode)]
    right = _joined({id(subject): _value(subject, declares.passes, dimension, use) for subject in mounted}, mounted, dimension)
    if not mounted or declares.constants is None:
        return Floor(None, "no constant is declared" if mounted else "the judge is not mounted", right, "the right answer")
    best: tuple[float, str] | None = None
    for constant, values in _constant_values(mounted, dimension, use):
        joined = _joined(values, mounted, dimension)
        if joined is not None and (best is None or _is_better(joined, best[0], dimension)):
            best = (joined, constant.how)
    if best is None:
        return Floor(None, "no constant can be measured on these items", right, "the right answer")
    return Floor(best[0], best[1], right, "the right answer")


def _is_better(value: float, best: float, dimension: Dimension) -> bool:
    return value < best - 1e-12 if dimension.direction == "lower" else value > best + 1e-12


def _constant_values(subjects: Sequence[Subject], dimension: Dimension, use: JudgeUse) -> list[tuple[Constant, dict[int, float | None]]]:
    """Each constant's value on each subject. Subjects that look alike to the judge are judged once."""
    declares = find_judge(use.judge).DECLARES
    constants = declares.constants
    assert constants is not None
    alike: dict[object, list[Subject]] = {}
    for subject in subjects:
        alike.setdefault(declares.alike_by(subject), []).append(subject)
    groups = [(members, constants(members[0])) for members in alike.values()]
    found = []
    for number, constant in enumerate(groups[0][1]):
        values: dict[int, float | None] = {}
        for members, declared in groups:
            value = _value(members[0], declared[number].answer, dimension, use)
            values |= dict.fromkeys(map(id, members), value)
        found.append((constant, values))
    return found


def _value(subject: Subject, control: Control, dimension: Dimension, use: JudgeUse) -> float | None:
    answers = tuple(RoundAnswer(each.day, Answer(control(subject, each.day), (), (), None, "")) for each in subject.answers)
    said = find_judge(use.judge).judge(replace(subject, answers=answers), dict(use.settings))
    by_name = {use.name + verdict.name.removeprefix(use.judge): verdict for verdict in said}
    return by_name[dimension.verdict].value


def _joined(values: Mapping[int, float | None], subjects: Sequence[Subject], dimension: Dimension) -> float | None:
    """Mean over subjects, or mean of the means of a stratum's classes; None when nothing or only one class is measured."""
    if not dimension.join.startswith(STRATUM):
        measured = [value for value in values.values() if value is not None]
        return fmean(measured) if measured else None
    classes: dict[str, list[float]] = {}
    for subject in subjects:
        value, stratum = values[id(subject)], read_strata(subject).get(dimension.join.removeprefix(STRATUM))
        if value is not None and stratum is not None:
            classes.setdefault(stratum, []).append(value)
    return fmean(fmean(each) for each in classes.values()) if len(classes) > 1 else None
