"""What a policy that never reads the record can earn on a decision pack: the share of items it is paid on, with an exact bound each.

An item is paid when every core dimension that can be measured on it is right and no hard gate is hit; one on which no skill can be
measured is left out. Items are drawn by the pack's own
generator out of many more with outcomes in equal number, refused ones replaced. Drawn without return from a list of fixed shares, counts
spread less than independent ones, so the bounds are on the safe side. The oracle must be paid on every item.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clinworld.access.delivered import parse_delivered
from clinworld.access.episodes import Turn, next_turn
from clinworld.access.replies import read_answer
from clinworld.access.view import shown_days
from clinworld.core.digest import digest_value
from clinworld.core.errors import NothingEmitted, UsageError
from clinworld.core.rng import Rng
from clinworld.core.store import hold_lock
from clinworld.core.text import Language
from clinworld.judges.mount import Judged, judge_cell
from clinworld.knowledge.load import Knowledge
from clinworld.packs.emr_write.certificate.build import Counted, Identities, build_certificate
from clinworld.packs.emr_write.certificate.certify import Certified, make_folder, write_certificate
from clinworld.packs.emr_write.certificate.commitment import Seed, write_commitment
from clinworld.packs.emr_write.certificate.measure import Tally
from clinworld.packs.emr_write.certificate.settings import setting, whole_setting
from clinworld.packs.load import LoadedPack
from clinworld.provenance.source_text import python_form
from clinworld.provenance.stamps import Stamps, compute_stamps
from clinworld.run.agents import speak
from clinworld.run.batch_files import digest_row
from clinworld.run.blind_policies import Asked, Policy, answer_with_gold, is_right, list_policies
from clinworld.run.build_case import build_case
from clinworld.run.pack_controls import ORACLE, POSITIVE
from clinworld.run.pack_exam import PROBE_SET, Exam, usable
from clinworld.schema.answer import Answer, RoundAnswer
from clinworld.schema.gold import GoldRow, gold_to_row
from clinworld.schema.item import Item, item_to_row
from clinworld.schema.job import Job
from clinworld.schema.pack import Dimension, Pack

PAID = "every core dimension measured on the item right, one of them a skill, no hard gate hit"
CADENCE_DAYS = 28
CONTROLS_SEEN_ON = 6  # items on which a control must say the same to count as one that does not read
MOST_DRAWN = 4  # cases drawn for each item wanted, before too many are refused

Advance = Callable[[], None]


@dataclass(frozen=True, slots=True)
class PackPlan:
    """Items that policies are judged on, and further ones on which the adversary chooses its constants."""

    items: int
    language: Language
    chosen_on: int

    def __post_init__(self) -> None:
        most = whole_setting("most_trials")
        if not 1 <= self.items <= most:
            raise UsageError("--items", f"{self.items:,}", f"at least 1, at most {most:,}")

    def as_row(self, pack: Pack, generator: str) -> dict[str, int | str]:
        """The plan as committed to."""
        episode = pack.episodes[0]
        return {"items": self.items, "chosen_on": self.chosen_on, "language": self.language, "episode": episode, "generator": generator}


def certify_pack(
    out: Path,
    pack: LoadedPack,
    plan: PackPlan,
    seed: Seed,
    knowledge: Knowledge,
    *,
    key: Any = None,
    is_regression: bool = False,
    advance: Advance = lambda: None,
) -> Certified:
    """Certify a decision pack and write certificate.json under `out`.

    Raises NothingEmitted when too few items pass their gates, UsageError for a pack without an oracle.
    """
    check_pack(pack)
    digests = digest_pack(pack)
    folder = make_folder(out / pack.pack.name)
    with hold_lock(folder):
        row = plan.as_row(pack.pack, digests.generator)
        commitment = write_commitment(folder, seed, row, pack.pack.name, digests.checker, is_regression=is_regression)
        counts = _count(pack, plan, seed, knowledge, advance)
        identities = Identities(counts.digest(), digests.checker, digests.contract, digests.generator)
        counted = Counted(counts.policies, {ORACLE: counts.oracle}, {}, counts.readers)
        certificate = build_certificate(
            "decision_pack", pack.pack.name, counted, identities, seed, commitment, row, left_out=counts.left_out
        )
        return write_certificate(folder, certificate, commitment, key, counts.surprises)


def check_pack(pack: LoadedPack) -> None:
    """Raises UsageError for a pack that cannot be certified: no scored dimension, or no oracle for its own episode."""
    where = f"pack {pack.pack.name}"
    if not pack.pack.dimensions:
        raise UsageError(where, "no scored dimension", "a decision pack is expected", do="Name another pack.")
    control = pack.controls.get(ORACLE)
    if control is None or pack.pack.episodes[0] not in control.episodes:
        raise UsageError(where, f"no control {ORACLE!r} for the episode {pack.pack.episodes[0]!r}", do="Declare one in pack.yaml.")


def digest_pack(pack: LoadedPack) -> Identities:
    """Judges, payment and generator of a pack as they stand; the corpus is left open."""
    stamps: Stamps = compute_stamps(pack.pack.folder)
    here = Path(__file__).parent
    forms = [python_form((here / name).read_text(encoding="utf-8")) for name in ("certify_pack.py", "blind_policies.py")]
    core = [[each.verdict, each.direction] for each in pack.pack.dimensions]
    contract = digest_value({"paid": PAID, "right_from": right_from(), "core": core, "hard_gates": list(pack.pack.hard_gates)}, length=32)
    return Identities("", stamps.judge, contract, digest_value([stamps.world, stamps.exam, forms], length=32))


class _Counts:
    """Tallies while items pass by."""

    def __init__(self) -> None:
        self.policies: dict[str, Tally] = {}
        self.readers: dict[str, Tally] = {}
        self.oracle = Tally()
        self.identities: list[list[str]] = []
        self.surprises: list[str] = []
        self.left_out = 0

    def digest(self) -> str:
        return digest_value(self.identities, length=32)


def _count(pack: LoadedPack, plan: PackPlan, seed: Seed, knowledge: Knowledge, advance: Advance) -> _Counts:
    exam, counts = Exam(pack, knowledge, ()), _Counts()
    apart = digest_value(["chosen on", seed.value])
    chosen = list(_ask_items(_Counts(), exam, plan.language, plan.chosen_on, apart, advance, with_prompts=False))
    seen = Exam(pack, knowledge, tuple((each.item, each.subject.gold) for each in chosen[:CONTROLS_SEEN_ON]))
    cores = {asked.item.item_id: find_core(exam, asked) for asked in chosen}

    def pays(asked: Asked, replies: list[str]) -> bool:
        return is_paid(exam, asked, replies, cores[asked.item.item_id])

    policies = list_policies(seen, chosen, pays, seed.value, right_from=right_from())
    readers = usable(exam, purpose=POSITIVE)
    for asked in _ask_items(counts, exam, plan.language, plan.items, seed.value, advance):
        item, gold = digest_row(item_to_row(asked.item)), digest_row(gold_to_row(asked.subject.gold))
        counts.identities.append([asked.item.item_id, item, gold])
        _count_item(counts, exam, asked, policies, readers)
    return counts


def _ask_items(
    counts: _Counts, exam: Exam, language: Language, n: int, seed: str, advance: Advance, *, with_prompts: bool = True
) -> Iterator[Asked]:
    """`n` items on which some skill can be measured, each with the gold of another one; those left out are counted."""
    asked_so_far, last = 0, None
    for item, gold in _draw_items(exam, language, n, seed):
        asked = ask(exam, item, gold, other=last or gold, with_prompts=with_prompts)
        last = gold
        if not any(each.role == "skill" for each in find_core(exam, asked)):
            counts.left_out += 1
            continue
        asked_so_far += 1
        advance()
        yield asked
        if asked_so_far == n:
            return
    found = f"{asked_so_far} of {MOST_DRAWN * n} drawn cases passed their gates with a skill to measure"
    raise NothingEmitted(f"pack {exam.pack.pack.name}", found, f"{n} are needed")


def _count_item(counts: _Counts, exam: Exam, asked: Asked, policies: dict[str, Policy], readers: list[str]) -> None:
    core = find_core(exam, asked)
    is_oracle_paid = is_paid(exam, asked, answer_with_gold(exam.pack, asked, asked.subject.gold), core)
    _add(counts.oracle, asked, is_oracle_paid)
    if not is_oracle_paid:
        counts.surprises.append(f"item {asked.item.item_id}: the oracle is not paid")
    for name, policy in policies.items():
        _add(counts.policies.setdefault(name, Tally()), asked, is_paid(exam, asked, policy(asked), core))
    for name in readers:
        is_reader_paid = is_paid(exam, asked, _read(exam.pack, asked, name), core)
        _add(counts.readers.setdefault(f"control:{name}", Tally()), asked, is_reader_paid)


def _add(tally: Tally, asked: Asked, is_counted: bool) -> None:
    gold = asked.subject.gold.gold
    template = " ".join((str(gold.event_occurs), *gold.drivers))
    tally.trials += 1
    tally.paid += is_counted
    tally.clusters[template] += 1
    tally.paid_clusters[template] += is_counted


def ask(exam: Exam, item: Item, gold: GoldRow, *, other: GoldRow, with_prompts: bool = True) -> Asked:
    """An item with every prompt of its episode; `other` is the gold of another patient."""
    unsaid = tuple(RoundAnswer(day, Answer({}, (), (), None, "")) for day in shown_days(item, exam.episode))
    prompts: list[str] = []
    while with_prompts and (turn := _next_turn(exam, item, len(prompts))) is not None:
        prompts.append(turn.prompt)
    return Asked(exam.subject(item, gold, unsaid), other, tuple(prompts))


def _next_turn(exam: Exam, item: Item, number: int) -> Turn | None:
    return next_turn(item, exam.pack.pack, exam.knowledge, exam.episode, PROBE_SET, [""] * number)


def judge_replies(exam: Exam, asked: Asked, replies: list[str]) -> Judged:
    """Every verdict on these replies, one a turn."""
    read = [read_answer(reply, "stop", exam.pack.answer_model) for reply in replies]
    return judge_cell(replace(asked.subject, answers=tuple(map(RoundAnswer, asked.days, read))), exam.pack.pack)


def _read(pack: LoadedPack, asked: Asked, name: str) -> list[str]:
    language, earlier = asked.item.language, list[dict[str, Any]]()
    for turn, prompt in enumerate(asked.prompts):
        earlier.append(pack.controls[name].function(parse_delivered(prompt, language), language, turn, earlier))
    return [speak(each) for each in earlier]


def find_core(exam: Exam, asked: Asked) -> tuple[Dimension, ...]:
    """The scored dimensions with a direction that the right answer is measured on."""
    judged = judge_replies(exam, asked, answer_with_gold(exam.pack, asked, asked.subject.gold))
    measured = {verdict.name for verdict in judged.verdicts if verdict.state == "scored"}
    return tuple(each for each in exam.pack.pack.dimensions if each.direction != "none" and each.verdict in measured)


def right_from() -> float:
    """The share of full marks from which a dimension is right."""
    return setting("right_from")


def is_paid(exam: Exam, asked: Asked, replies: list[str], core: tuple[Dimension, ...]) -> bool:
    """True when the replies are paid. A gate that cannot tell does not refuse; an item without a core dimension pays nobody."""
    judged = judge_replies(exam, asked, replies)
    values = {verdict.name: verdict.value for verdict in judged.verdicts}
    if not core or any(gate.hit for gate in judged.gates if gate.name in exam.pack.pack.hard_gates):
        return False
    return all(is_right(values.get(each.verdict), each.direction, right_from()) for each in core)


def _draw_items(exam: Exam, language: Language, n: int, seed: str) -> Iterator[tuple[Item, GoldRow]]:
    """Items that pass their gates, drawn from many more than `n` with outcomes in equal number, in an order that tells nothing."""
    job = Job(
        job_id="certify-pack",
        task=exam.pack.pack.name,
        language=language,
        seed=seed,
        cases=(),
        episode=None,
        cadence_days=CADENCE_DAYS,
        findings=False,
        physio=True,
        items=MOST_DRAWN * n,
        mix=(("outcome", "balanced"),),
        without_effect=(),
        digest="",
        path="certify-pack",
    )
    rng = Rng(seed)
    for case in exam.pack.draw_cases(job, exam.knowledge, rng):
        built = build_case(case, job, exam.pack, exam.knowledge, rng)
        if built.is_emitted and built.item and built.gold:
            yield built.item, built.gold
