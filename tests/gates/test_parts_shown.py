"""What only some packs see, from the chart through the view to the prompt: nothing more, nothing less, nothing else."""

from dataclasses import replace
from functools import lru_cache

import pytest
from gate_case import find_case, replace_text, run, with_chart, with_item

from clinworld.access.record_text import LABELS, render_record, split_record
from clinworld.access.view import cut_view
from clinworld.core.rng import Rng
from clinworld.core.text import load_labels
from clinworld.gates.case import CaseUnderCheck
from clinworld.schema.record import PARTS, Record
from clinworld.world.build import build_world

DATED = ("dispensing", "specimens", "findings")


@lru_cache(maxsize=1)
def with_parts() -> CaseUnderCheck:
    """A packaged case with everything a pack can ask for, and the prompts that show it."""
    case = find_case("prompts_show_the_view", lambda case: "lab_panel" in case.gold.premise.patient.devices)
    premise = case.gold.premise
    _, chart = build_world(premise, case.knowledge, Rng(premise.seed), frozenset(PARTS))
    parts = {name: getattr(chart.record, name) for name in (*DATED, "method_changes", "history")}
    case = with_chart(case, **parts)
    prompts = []
    for prompt in case.prompts:
        before, _, after = split_record(prompt.text)
        record = render_record(cut_view(case.item.record, prompt.day), case.item.language, case.knowledge)
        prompts.append(prompt._replace(text=before + record.removesuffix("</record>") + after))
    return CaseUnderCheck(case.item, case.gold, case.knowledge, case.reader, tuple(prompts))


def heading_of(part: str) -> str:
    return load_labels(LABELS).say(part, with_parts().item.language)


def shown() -> Record:
    return with_parts().item.record


@pytest.mark.parametrize("gate", ["view_is_the_chart", "prompts_show_the_view"])
def test_a_record_with_all_parts_passes(gate: str) -> None:
    outcome = run(gate, with_parts())
    assert outcome.checked and outcome.findings == ()
    assert all(getattr(shown(), name) for name in DATED) and shown().history is not None


@pytest.mark.parametrize("part", DATED)
def test_a_part_with_a_row_less_or_a_later_day_is_not_the_chart(part: str) -> None:
    rows = getattr(shown(), part)
    for changed in (rows[1:], (*rows[:-1], replace(rows[-1], day=rows[-1].day - 1)), ()):
        findings = run("view_is_the_chart", with_item(with_parts(), record=replace(shown(), **{part: changed}))).findings
        assert [finding.place for finding in findings] == [part]


def test_a_history_of_another_patient_is_not_the_chart() -> None:
    history = shown().history
    assert history is not None
    first = replace(history.events[0], day=history.events[0].day - 1)
    series = replace(history.series[0], ticks=history.series[0].ticks + 1)
    for other in (None, replace(history, events=(first, *history.events[1:])), replace(history, series=(series, *history.series[1:]))):
        findings = run("view_is_the_chart", with_item(with_parts(), record=replace(shown(), history=other))).findings
        assert [finding.place for finding in findings] == ["history"]


@pytest.mark.parametrize("part", ["history", *DATED])
def test_a_line_planted_under_any_heading_is_found(part: str) -> None:
    label = heading_of(part)
    planted = replace_text(with_parts(), lambda text: text.replace(f"{label}\n", f"{label}\n  the weight will come back\n", 1))
    assert run("prompts_show_the_view", planted).findings


@pytest.mark.parametrize("part", ["history", *DATED])
def test_a_number_changed_under_any_heading_is_found(part: str) -> None:
    label = heading_of(part)

    def edit(text: str) -> str:
        before, body = text.split(f"{label}\n", 1)
        line = next(line for line in body.split("\n") if any(sign.isdigit() for sign in line))
        digit = next(sign for sign in reversed(line) if sign.isdigit())
        place = line.rindex(digit)
        return f"{before}{label}\n" + body.replace(line, line[:place] + str((int(digit) + 1) % 10) + line[place + 1 :], 1)

    assert run("prompts_show_the_view", replace_text(with_parts(), edit)).findings
