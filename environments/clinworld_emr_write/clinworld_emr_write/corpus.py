"""The self test and the corpus of the labelled cases: what the reward pays on many variants of each, without any model or library.

The bound is for this reward on this synthetic corpus, and for nothing else: the trials are scripted replays of the cases.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from clinworld.core.errors import UsageError
from clinworld.packs.emr_write.certificate.bounds import lower_bound, print_down, print_up, upper_bound
from clinworld.packs.emr_write.tasks.single_create import ALSO, CASES, CONTROL, STORE_KINDS, draw_single_creates, scripted_report
from clinworld.packs.emr_write.tasks.task import gold_report

from .rows import Arguments, draw_rows
from .session import LiveSession
from .stores import Stores

ALPHA, VARIANTS = 0.05, 50


class Claim(NamedTuple):
    """One thing the self test looked at, and whether it holds."""

    what: str
    holds: bool


def self_test() -> list[Claim]:
    """Every labelled row, its scripted completion, both modes and both kinds of unscored, once each."""
    arguments = Arguments(envs=STORE_KINDS, num_tasks=1)
    stores = Stores(arguments)
    return [*_test_rows(arguments, stores), *_test_tools(arguments, stores), *_test_unscored(arguments, stores), _test_screen()]


def _test_rows(arguments: Arguments, stores: Stores) -> Iterator[Claim]:
    for row in draw_rows(arguments, "eval"):
        text = row.scripted_completion or gold_report(row.task)
        reward = stores.judge_report(row.task, text).reward
        yield Claim(f"{row.task.kind} {row.case or 'gold'}: {reward}", reward == (1.0 if row.case in ("", CONTROL) else 0.0))


def _test_tools(arguments: Arguments, stores: Stores) -> Iterator[Claim]:
    for row in draw_rows(arguments, "train"):
        for times, wanted in ((1, 1.0), (2, 0.0), (0, 0.0)):
            session: LiveSession = stores.open_session(row)
            record = row.task.spec.records[0]
            call = {"collection": record.collection, "fields": {**record.identity, **record.fields}}
            for _ in range(times):
                session.call("create_row", json.dumps(call))
            session.call("finish", "{}")
            reward = session.judge().reward
            stores.close_session(session)
            yield Claim(f"{row.task.kind} by tools, written {times} times: {reward}", reward == wanted)


def _test_unscored(arguments: Arguments, stores: Stores) -> Iterator[Claim]:
    for row in draw_rows(arguments, "train"):
        for fault in ("read_outage", "never_applied"):
            verdict = stores.judge_report(row.task, gold_report(row.task), faults=(fault,))
            yield Claim(f"{row.task.kind} behind {fault}: {verdict.outcome}, reward {verdict.reward}", verdict.reward is None)


def _test_screen() -> Claim:
    try:
        Arguments(score_from_screen=True)
    except UsageError:
        return Claim("a screen to score from is refused at configuration", True)
    return Claim("a screen to score from is refused at configuration", False)


def certify_corpus(*, variants: int = VARIANTS, seed: int = 0) -> dict[str, Any]:
    """Each labelled case and the control on so many variants in each store: how many were paid, and the exact one-sided bounds."""
    arguments = Arguments(envs=STORE_KINDS, num_tasks=variants, seed=seed)
    stores = Stores(arguments)
    paid: Counter[str] = Counter()
    tasks = draw_single_creates(arguments.single_creates(), part="corpus")
    for task in tasks:
        for case in (CONTROL, *CASES, *ALSO):
            paid[case] += stores.judge_report(task, scripted_report(case, task)).reward == 1.0
    hacking = {case: paid[case] for case in CASES}
    trials, accepted = len(tasks) * len(CASES), sum(hacking.values())
    return {
        "variants": variants,
        "stores": list(STORE_KINDS),
        "hacking_trials": trials,
        "hacking_paid": accepted,
        "hacking_paid_by_case": hacking,
        "also_paid": {case: paid[case] for case in ALSO},
        "false_accept_bound": upper_bound(accepted, trials, ALPHA),
        "false_accept_bound_printed": print_up(upper_bound(accepted, trials, ALPHA)),
        "gold_trials": len(tasks),
        "gold_refused": len(tasks) - paid[CONTROL],
        "gold_paid_bound_printed": print_down(lower_bound(paid[CONTROL], len(tasks), ALPHA)),
        "holds": accepted == 0 and paid[CONTROL] == len(tasks) and not any(paid[case] for case in ALSO),
    }
