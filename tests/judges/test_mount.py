"""How judges and gates are found, mounted, named and kept from taking a row down with them."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from judge_case import knowledge, rounds, sides, subject

from clinworld.core.errors import PackError
from clinworld.core.text import Wording
from clinworld.judges import mount
from clinworld.judges.mount import check_mounting, find_answer_gate, find_judge, gate_names, judge_cell, judge_files, judge_names, why_not
from clinworld.schema.job import EpisodeKind
from clinworld.schema.pack import Dimension, JudgeUse, Pack

GATES = ("hallucinated_clinical_fact", "unsafe_action")
DIMENSION = Dimension("direction", "higher", "mean_by_outcome", "skill", None)


def pack(**changes: Any) -> Pack:
    made = Pack(
        name="p",
        version=1,
        folder=Path(),
        asks=Wording("?", "?"),
        episodes=("single", "rounds"),
        sees=(),
        languages=("en",),
        gates=(),
        probes=(),
        judges=tuple(JudgeUse(name, name, ()) for name in judge_names()),
        hard_gates=GATES,
        propensity_gates=("over_triage",),
        reported_gates=("acted_on_unverified_signal",),
        dimensions=(DIMENSION,),
        controls=(),
        blocks=(),
    )
    return replace(made, **changes)


@pytest.mark.parametrize("name", [*judge_names(), *gate_names()])
@pytest.mark.parametrize("episode", get_args(EpisodeKind))
def test_each_judge_and_gate_is_mounted_on_an_episode_or_has_a_written_reason(name: str, episode: str) -> None:
    declares = find_judge(name).DECLARES if name in judge_names() else find_answer_gate(name).DECLARES
    reason = why_not(declares, "forecast", episode)
    assert reason == "" or len(reason) > 20
    assert "forecast only" in why_not(declares, "differential", episode)
    assert why_not(declares, "forecast", "rounds") == ""


def test_a_judge_that_is_not_mounted_says_why_in_its_verdict() -> None:
    verdicts = {verdict.name: verdict for verdict in judge_cell(subject({}), pack()).verdicts}
    assert verdicts["revision_timeliness"].state == "not_applicable"
    assert "one answer" in verdicts["revision_timeliness"].reason
    assert judge_cell(rounds(*sides("low", "low", "high")), pack()).verdicts != ()


def test_every_output_of_every_judge_stands_in_the_row_once() -> None:
    names = [verdict.name for verdict in judge_cell(subject({}), pack()).verdicts]
    assert sorted(names) == sorted(output for name in judge_names() for output in find_judge(name).DECLARES.outputs)


def test_a_judge_that_raises_is_unscored_and_named_and_nothing_else_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    clean = judge_cell(subject({}), pack())

    def broken(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(find_judge("direction"), "judge", broken)
    monkeypatch.setattr(find_answer_gate("unsafe_action"), "judge", broken)
    judged = judge_cell(subject({}), pack())
    verdicts = {verdict.name: verdict for verdict in judged.verdicts}
    assert verdicts.pop("direction").reason == "judge direction failed: ZeroDivisionError: division by zero"
    assert list(verdicts.values()) == [verdict for verdict in clean.verdicts if verdict.name != "direction"]
    gate = next(gate for gate in judged.gates if gate.name == "unsafe_action")
    assert (gate.hit, gate.units) == (None, 0)
    assert "ZeroDivisionError" in gate.detail


def test_a_judge_without_the_origins_it_needs_is_unscored_with_the_reason() -> None:
    verdicts = judge_cell(rounds(*sides("low", "high"), origins=()), pack()).verdicts
    told = {verdict.name: verdict for verdict in verdicts}["revision_conduct"]
    assert told.state == "unscored"
    assert "origins" in told.reason


def test_a_verdict_is_called_as_the_pack_calls_its_judge() -> None:
    uses = (JudgeUse("breadth", "evidence_breadth", ()),)
    assert [verdict.name for verdict in judge_cell(subject({}), pack(judges=uses)).verdicts] == ["breadth", "breadth_grounded"]


def test_strata_hold_gold_facts_and_questions_only_where_they_were_asked() -> None:
    asked = judge_cell(subject({}, occurs=False), pack()).strata
    assert asked == {"outcome": "no_event", "review": "not_warranted", "no_op": "gap", "false_premise": "false", "quant": "peak_day"}
    assert judge_cell(subject({}, probe_set="none"), pack()).strata == {"outcome": "event", "review": "warranted"}


@pytest.mark.parametrize("find", [find_judge, find_answer_gate])
def test_an_unknown_name_is_told_the_nearest(find: Any) -> None:
    with pytest.raises(PackError, match="Did you mean"):
        find("drivers_overlpa" if find is find_judge else "unsafe_acton")


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"judges": (JudgeUse("a", "directoin", ()),)}, "judges.a.use"),
        ({"judges": (JudgeUse("direction", "direction", (("field", 1),)),)}, "judges.direction.field"),
        ({"hard_gates": ("unsafe",)}, "gates"),
        ({"dimensions": (replace(DIMENSION, verdict="elsewhere"),)}, "score.dimensions.elsewhere"),
        ({"dimensions": (replace(DIMENSION, verdict="evidence_breadth", join="mean"),)}, "score.dimensions.evidence_breadth"),
        ({"dimensions": (replace(DIMENSION, paired_with="risk_calibration"),)}, "score.dimensions.direction"),
        ({"dimensions": (replace(DIMENSION, direction="none"),)}, "score.dimensions.direction"),
    ],
)
def test_a_wrong_declaration_is_found_where_it_stands(changes: dict[str, Any], place: str) -> None:
    assert check_mounting(pack()) == ()
    assert place in {finding.place for finding in check_mounting(pack(**changes))}


def test_a_dimension_that_more_output_improves_is_taken_with_its_partner() -> None:
    pair = (
        Dimension("evidence_breadth", "higher", "mean", "skill", "evidence_breadth_grounded"),
        Dimension("evidence_breadth_grounded", "higher", "mean", "skill", None),
    )
    assert check_mounting(pack(dimensions=pair)) == ()


def test_the_files_of_a_judge_are_its_own_what_it_imports_and_its_tables() -> None:
    names = [path.name for path in judge_files("direction")]
    assert names[0] == "direction.py"
    assert {"subject.py", "declares.py", "reading.py", "answer_words.py", "risk_categories.csv", "judges.csv"} <= set(names)
    assert "decided_change.py" not in names
    assert {"decided_change.py", "med_change.csv"} <= {path.name for path in judge_files("med_change_without_clinician")}
    assert all(path.is_file() for name in (*judge_names(), *gate_names()) for path in judge_files(name))


def test_shared_modules_are_no_judges() -> None:
    assert not {"subject", "mount", "floors", "declares", "probes", "units"} & set(judge_names())
    assert len(judge_names()) == 14
    assert len(gate_names()) == 10
    assert mount.PARAMETERS.is_file()


def test_every_parameter_of_the_judges_is_used() -> None:
    code = "".join(path.read_text() for path in mount.HERE.rglob("*.py"))
    names = [name.removeprefix("judges_") for name in knowledge().parameters if name.startswith("judges_")]
    assert names
    assert [name for name in names if f'"{name}"' not in code] == []


@pytest.mark.parametrize("table", sorted((mount.HERE / "words").glob("*.csv")), ids=lambda path: path.name)
def test_word_tables_cite_sources_there_are(table: Path) -> None:
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert rows
    assert {row["source"] for row in rows if "source" in row} <= set(knowledge().sources)
    assert len({tuple(row.values()) for row in rows}) == len(rows)
