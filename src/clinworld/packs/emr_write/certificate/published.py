"""The labelled cases of the published environment: six ways to fake a single create and the control, in two stores.

They are kept because the published bound is stated over them. They are relabelled copies of a few templates, which the certificate says.
"""

import json
from collections.abc import Iterator

from clinworld.core.digest import digest_value
from clinworld.packs.emr_write.certificate.draw import RIGHT, Trial, digest_shape, whole_seed
from clinworld.packs.emr_write.certificate.settings import whole_setting
from clinworld.packs.emr_write.checker.verdict import Outcome
from clinworld.packs.emr_write.tasks.single_create import CASES, CONTROL, STORE_KINDS, TaskArguments, draw_single_creates, scripted_report
from clinworld.packs.emr_write.tasks.task import Task

PUBLISHED_WRONG, PUBLISHED_RIGHT = "published_cases", "published_control"
_WRITTEN = ("dup", "extra", "omit")  # the other cases write nothing


def count_published() -> int:
    """How many trials that makes."""
    return len(STORE_KINDS) * len((*CASES, CONTROL)) * whole_setting("published_variants")


def draw_published(seed: str) -> Iterator[Trial]:
    """Every case on every variant in both stores; the control stands in a family of its own."""
    arguments = TaskArguments(envs=STORE_KINDS, num_tasks=whole_setting("published_variants"), seed=whole_seed(seed))
    for number, task in enumerate(draw_single_creates(arguments, part="published")):
        for case in (*CASES, CONTROL):
            yield _make_trial(digest_value([seed, "published", case, number], length=12), case, task)


def _make_trial(trial_id: str, case: str, task: Task) -> Trial:
    text = scripted_report(case, task)
    report = json.loads(text)
    shape = digest_shape(report.pop("actions"), report)
    expected: Outcome = RIGHT if case == CONTROL else "wrong_effect" if case in _WRITTEN else "halted_before_effect"
    family = PUBLISHED_RIGHT if case == CONTROL else PUBLISHED_WRONG
    return Trial(trial_id, family, f"{task.kind} {case}", shape, task, text, (), expected)
