"""Policies that answer a decision pack without reading the record: silence, copies, chance, another patient's answer, constants.

Constants are the adversary's best: put together from what the judges declare, chosen on items of their own, and judged on others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from clinworld.core.rng import Rng
from clinworld.judges.declares import Constant, Control
from clinworld.judges.mount import find_judge, verdict_names, why_not
from clinworld.judges.subject import Subject, gold_kind
from clinworld.packs.emr_write.certificate.settings import whole_setting
from clinworld.packs.load import LoadedPack
from clinworld.run.agents import speak
from clinworld.run.pack_controls import ORACLE
from clinworld.run.pack_exam import EXACT, Exam, usable, without_citations
from clinworld.schema.answer import Answer, RoundAnswer
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.pack import Dimension, JudgeUse, Pack


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One item as it is asked: what judges look at before anything is said, another patient's gold, and the prompt of each turn."""

    subject: Subject
    other: GoldRow
    prompts: tuple[str, ...]

    @property
    def item(self) -> Item:
        """The item."""
        return self.subject.item

    @property
    def days(self) -> tuple[int, ...]:
        """The last day shown at each turn."""
        return tuple(each.day for each in self.subject.answers)


Policy = Callable[[Asked], list[str]]
Pays = Callable[[Asked, list[str]], bool]
Fields = dict[str, Any]
Picked = Mapping[str, int]  # verdict → number of its judge's constant


def list_policies(exam: Exam, chosen: Sequence[Asked], pays: Pays, seed: str, *, right_from: float) -> dict[str, Policy]:
    """Every policy by name, its constants fitted to the `chosen` items.

    `pays` says whether replies to an item are paid; a dimension is right from `right_from` of full marks on.
    """
    bases, constants = _list_bases(exam), _Constants(exam.pack.pack, chosen, right_from)
    fitted = {"": _fit_base(bases, constants, constants.choose(), chosen, pays)}
    for verdict, number, how in constants.named():
        picked = constants.choose(fixed=(verdict, number))
        fitted[f"constant:{verdict} {how}"] = _fit_base(bases, constants, picked, chosen, pays)
    best = max(fitted.values(), key=lambda each: each.earned)
    policies: dict[str, Policy] = {
        "silence": lambda asked: [""] * len(asked.days),
        "empty_object": lambda asked: ["{}"] * len(asked.days),
        "copy_prompt": lambda asked: list(asked.prompts),
        "gold_of_another": lambda asked: answer_with_gold(exam.pack, asked, asked.other),
        "random_choice": lambda asked: constants.say(best.base, constants.draw(seed, asked.item.item_id), asked),
        "best_constant": _say_constant(constants, best),
    }
    policies |= {name: _say_constant(constants, each) for name, each in fitted.items() if name}
    return policies | {f"control:{name}": _repeat(said) for name, said in bases.items() if name}


class _Fitted(NamedTuple):
    """Constants over the rest of an answer, and how many of the chosen items they are paid on."""

    picked: Picked
    base: Sequence[Fields]
    earned: int


def _fit_base(bases: Mapping[str, list[Fields]], constants: "_Constants", picked: Picked, chosen: Sequence[Asked], pays: Pays) -> _Fitted:
    """The rest of the answer that goes best with some constants: what it leaves out or says may trip a gate."""
    hopeful = constants.right_items(picked, chosen)
    tried = [_Fitted(picked, base, sum(pays(each, constants.say(base, picked, each)) for each in hopeful)) for base in bases.values()]
    return max(tried, key=lambda each: each.earned)


def _say_constant(constants: "_Constants", fitted: _Fitted) -> Policy:
    return lambda asked: constants.say(fitted.base, fitted.picked, asked)


def _repeat(said: Sequence[Fields]) -> Policy:
    return lambda asked: [speak(_turn_of(said, turn)) for turn in range(len(asked.days))]


def answer_with_gold(pack: LoadedPack, asked: Asked, gold: GoldRow) -> list[str]:
    """The oracle's replies to an item under some gold."""
    oracle = pack.controls[ORACLE].function
    return [speak(oracle(asked.item, gold, day, asked.days[-1])) for day in asked.days]


def _list_bases(exam: Exam) -> dict[str, list[Fields]]:
    """By name what a control says turn by turn, if it says the same of every patient; "" is an empty answer. Citations are left out."""
    bases: dict[str, list[Fields]] = {"": [{}]}
    for name in usable(exam):
        if exam.pack.controls[name].reads_gold:
            continue
        said = sorted((_speak_of(exam, item, name) for item, _ in exam.items), key=len)
        if all(each == said[-1][: len(each)] for each in said):
            bases[name] = said[-1]
    return bases


def _speak_of(exam: Exam, item: Item, name: str) -> list[Fields]:
    earlier: list[Fields] = []
    for turn, (_, delivered) in enumerate(exam.turns[item.item_id]):
        earlier.append(exam.pack.controls[name].function(delivered, item.language, turn, earlier))
    return [dict(without_citations(each)) for each in earlier]  # type: ignore[call-overload]  # an object stays one


def _turn_of(said: Sequence[Fields], turn: int) -> Fields:
    return said[min(turn, len(said) - 1)]


class _Constants:
    """The judges' constants, with the chosen items on which each is right as the bits of a whole number."""

    def __init__(self, pack: Pack, chosen: Sequence[Asked], right_from: float) -> None:
        self._subjects = [each.subject for each in chosen]
        self._right_from = right_from
        self._judges: dict[str, tuple[Dimension, JudgeUse]] = {}
        self._right: dict[str, list[int]] = {}
        self._moot: dict[str, int] = {}
        self._listed: tuple[str, dict[str, tuple[Constant, ...]]] = ("", {})
        for dimension in pack.dimensions:
            use = next((use for use in pack.judges if dimension.verdict in verdict_names(use)), None)
            if use is not None and dimension.direction != "none" and find_judge(use.judge).DECLARES.constants is not None:
                self._judges[dimension.verdict] = (dimension, use)
                self._fit(dimension, use)
        self._options = self._list_options()
        self._kept: dict[tuple[str, str], dict[int, Control]] = {}

    def _fit(self, dimension: Dimension, use: JudgeUse) -> None:
        declares, verdict = find_judge(use.judge).DECLARES, dimension.verdict
        self._right[verdict], self._moot[verdict] = [], 0
        groups: dict[object, int] = {}
        for number, subject in enumerate(self._subjects):
            if why_not(declares, gold_kind(subject.gold), subject.episode):
                self._moot[verdict] |= 1 << number
            else:
                groups[declares.alike_by(subject)] = groups.get(declares.alike_by(subject), 0) | 1 << number
        for bits in groups.values():
            subject = self._subjects[bits.bit_length() - 1]
            if _judge(subject, declares.passes, dimension, use) is None:
                self._moot[verdict] |= bits
            listed = self._list(verdict, subject)
            self._right[verdict] = self._right[verdict] or [0] * len(listed)
            for number, constant in enumerate(listed):
                value = _judge(subject, constant.answer, dimension, use)
                self._right[verdict][number] |= bits * is_right(value, dimension.direction, self._right_from)

    def _list(self, verdict: str, subject: Subject) -> tuple[Constant, ...]:
        """The constants of a judge for one subject; those of the last subject are kept, as some judges have thousands."""
        if self._listed[0] != subject.item.item_id:
            self._listed = (subject.item.item_id, {})
        kept = self._listed[1]
        if verdict not in kept:
            constants = find_judge(self._judges[verdict][1].judge).DECLARES.constants
            assert constants is not None, f"{verdict}: fitted with constants only"
            kept[verdict] = constants(subject)
        return kept[verdict]

    def _answer(self, verdict: str, number: int, subject: Subject) -> Control:
        """What one constant says of a subject; those that are said again and again are kept."""
        key = (subject.item.item_id, verdict)
        if key not in self._kept:
            listed = self._list(verdict, subject)
            wanted = range(len(listed)) if len(listed) <= whole_setting("most_named") else self._options[verdict]
            self._kept[key] = {each: listed[each].answer for each in wanted}
        return self._kept[key].get(number) or self._list(verdict, subject)[number].answer

    def _list_options(self) -> dict[str, dict[int, Fields]]:
        """By judge the constants worth trying, with what they say: of those that are right together and say the same to others, one."""
        subject = self._subjects[0]
        day = subject.answers[-1].day
        said = {verdict: [each.answer(subject, day) for each in self._list(verdict, subject)] for verdict in self._judges}
        leaves = {verdict: {leaf for fields in listed for leaf, _ in _list_leaves(fields)} for verdict, listed in said.items()}
        options: dict[str, dict[int, Fields]] = {}
        for verdict, listed in said.items():
            shared = leaves[verdict] & {leaf for other, theirs in leaves.items() if other != verdict for leaf in theirs}
            kept: dict[tuple[int, object], int] = {}
            for number, fields in enumerate(listed):
                facing = tuple((leaf, repr(value)) for leaf, value in _list_leaves(fields) if leaf in shared)
                kept.setdefault((self._right[verdict][number], facing), number)
            options[verdict] = {number: listed[number] for (bits, _), number in kept.items() if bits or len(kept) == 1}
        return options

    def named(self) -> list[tuple[str, int, str]]:
        """(verdict, number, how) of the constants of judges that have few."""
        listed = {verdict: self._list(verdict, self._subjects[0]) for verdict in self._judges}
        few = {verdict: constants for verdict, constants in listed.items() if len(constants) <= whole_setting("most_named")}
        return [(verdict, number, constant.how) for verdict, constants in few.items() for number, constant in enumerate(constants)]

    def choose(self, *, fixed: tuple[str, int] | None = None) -> Picked:
        """One constant a judge, right together on the most chosen items; `fixed` is among them. None may contradict another."""
        subject = self._subjects[0]
        options = dict(self._options)
        if fixed:
            constant = self._list(fixed[0], subject)[fixed[1]]
            options[fixed[0]] = {fixed[1]: constant.answer(subject, subject.answers[-1].day)}
        best: tuple[int, Picked] = (-1, {})
        for picked in product(*options.values()):
            numbers = dict(zip(options, picked, strict=True))
            bits = self._right_bits(numbers)
            if bits.bit_count() > best[0] and not _clash([options[verdict][number] for verdict, number in numbers.items()]):
                best = (bits.bit_count(), numbers)
        return best[1]

    def _right_bits(self, picked: Picked) -> int:
        bits = (1 << len(self._subjects)) - 1
        for verdict, number in picked.items():
            bits &= self._right[verdict][number] | self._moot[verdict]
        return bits

    def right_items(self, picked: Picked, chosen: Sequence[Asked]) -> list[Asked]:
        """The chosen items on which these constants are right in every dimension."""
        bits = self._right_bits(picked)
        return [each for number, each in enumerate(chosen) if bits >> number & 1]

    def draw(self, seed: str, item_id: str) -> Picked:
        """Constants drawn evenly, each by itself; a later one may overrule what an earlier one said."""
        rng = Rng(seed)
        return {verdict: rng.at(item_id, "random_choice", verdict).whole(0, len(right) - 1) for verdict, right in self._right.items()}

    def say(self, base: Sequence[Fields], picked: Picked, asked: Asked) -> list[str]:
        """The replies that say these constants over a base, turn by turn."""
        answers = [self._answer(verdict, number, asked.subject) for verdict, number in picked.items()]
        replies = []
        for turn, day in enumerate(asked.days):
            said = _turn_of(base, turn)
            for answer in answers:
                said = _overlay(said, answer(asked.subject, day))
            replies.append(speak(said))
        return replies


def is_right(value: float | None, direction: str, right_from: float) -> bool:
    """True for a value at least so far on the way to full marks; one that is not measured is not right."""
    if value is None:
        return False
    return (1 - value if direction == "lower" else value) >= right_from - EXACT


def _judge(subject: Subject, control: Control, dimension: Dimension, use: JudgeUse) -> float | None:
    answers = tuple(RoundAnswer(each.day, Answer(control(subject, each.day), (), (), None, "")) for each in subject.answers)
    said = find_judge(use.judge).judge(replace(subject, answers=answers), dict(use.settings))
    return {use.name + verdict.name.removeprefix(use.judge): verdict.value for verdict in said}.get(dimension.verdict)


def _list_leaves(fields: Fields, place: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in fields.items():
        found += _list_leaves(value, f"{place}.{name}") if isinstance(value, dict) else [(f"{place}.{name}", value)]
    return found


def _clash(parts: Sequence[Fields]) -> bool:
    """True when two parts say different things in one place."""
    said: dict[str, Any] = {}
    return any(said.setdefault(leaf, value) != value for part in parts for leaf, value in _list_leaves(part))


def _overlay(base: Fields, fields: Fields) -> Fields:
    merged = dict(base)
    for name, value in fields.items():
        under = merged.get(name)
        merged[name] = _overlay(under, value) if isinstance(value, dict) and isinstance(under, dict) else value
    return merged
