"""A pack that sees history, specimens, findings and dispensing: charted, told in both languages, gated, and shown in the report."""

import shutil
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import orjson
import pytest
from pack_case import knowledge, make_item, make_record

from clinworld.access.delivered import parse_delivered
from clinworld.access.leaks import check_delivery
from clinworld.access.record_text import LABELS, render_record
from clinworld.cli.main import main
from clinworld.core.rng import Rng
from clinworld.core.text import LANGUAGES, Language, load_labels
from clinworld.packs import load
from clinworld.packs.load import pack_names
from clinworld.report.wording import say_fault
from clinworld.run.batch_files import Batch
from clinworld.schema.record import PARTS, Chart, FindingResult, MethodChange, Specimen
from clinworld.world.build import build_world
from clinworld.world.job_file import find_job, read_job
from clinworld.world.premise import derive_premise

PACKAGED = Path(load.__file__).parent
HEADINGS = ("history", "dispensing", "specimens", "method_changes", "findings")
GATES = ("history_is_possible", "dispensing_follows_orders", "artifacts_act")
JOB = """\
job_id: mine
task: lab_pack
language: {language}
cases:
  - case_id: A-1
    raw:
      {{disease: dyslipidemia, drug: rosuvastatin, dose_steps: [5, 10], devices: [smart_scale, lab_panel], start_weight: 98,
      nadir_weight: 92}}
    latent: {{outcome: maintain}}
"""


def write_pack(folder: Path) -> Path:
    """The declaration of early_warning with every part on."""
    shutil.copytree(PACKAGED / "early_warning", folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / "pack.yaml").read_text(encoding="utf-8")
    for before, after in (
        ("pack: early_warning", "pack: lab_pack"),
        ("labs, notes]", "labs, notes, history, specimens, findings, dispensing]"),
        ("  - texts_clean\n", "  - texts_clean\n  - history_is_possible\n  - dispensing_follows_orders\n"),
    ):
        assert before in text
        text = text.replace(before, after)
    (folder / "pack.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def lab_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_pack(tmp_path / "lab_pack")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(words)
    told = capsys.readouterr()
    return code, told.out + told.err


@pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.slow)])
def test_a_pack_that_sees_all_parts_builds_verifies_runs_and_reports(
    lab_pack: Path, capsys: pytest.CaptureFixture[str], language: Language
) -> None:
    Path("mine.yaml").write_text(JOB.format(language=language), encoding="utf-8")
    for verb in (["build"], ["verify"], ["run", "--offline"], ["report"]):
        code, told = run(capsys, *verb, "mine.yaml", "--pack", str(lab_pack))
        assert code == 0, (verb, told)
        assert verb != ["verify"] or "0 with leaked text" in told
    folder = next(Path("artifacts/mine").glob("2*"))
    item = next(iter(Batch(folder).items()))
    shown = item.record
    assert shown.history and shown.specimens and shown.findings and shown.dispensing
    audit = [orjson.loads(line) for line in (folder / "audit.jsonl").read_bytes().splitlines() if b'"gates"' in line]
    states = {gate["gate"]: gate["state"] for gate in audit[0]["gates"]}
    assert {states[name] for name in GATES} == {"passed"}
    page = (folder / "report" / "index.html").read_text(encoding="utf-8")
    faults = Batch(folder).gold_rows()[item.item_id].faults
    kinds = {fault.kind for fault in faults if fault.days and fault.kind in knowledge().factors}
    assert kinds and all(f">{say_fault(knowledge(), kind, language)}</text>" in page for kind in kinds)


@pytest.mark.parametrize("name", pack_names())
def test_no_packaged_pack_asks_for_a_part(name: str) -> None:
    assert not set(load.load_pack(name).pack.sees) & set(PARTS)


@lru_cache
def charts() -> tuple[Chart, ...]:
    """Charts of the packaged job with every part."""
    job = read_job(find_job("early_warning-20"), knowledge(), tasks=pack_names())
    premises = (derive_premise(case, job, knowledge(), Rng(job.seed)) for case in job.cases[:6])
    return tuple(build_world(premise, knowledge(), Rng(job.seed), frozenset(PARTS))[1] for premise in premises)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_told_of_the_parts_is_what_is_charted_and_moves_nothing_else_that_is_read(language: Language) -> None:
    labels = load_labels(LABELS)
    for chart in charts():
        record = chart.record.until(120)
        plain = replace(record, history=None, dispensing=(), specimens=(), method_changes=(), findings=())
        text, without = render_record(record, language, knowledge()), render_record(plain, language, knowledge())
        read, alone = parse_delivered(text, language), parse_delivered(without, language)
        assert (read.series, read.notes, read.prescriptions, read.last_day) == (
            alone.series,
            alone.notes,
            alone.prescriptions,
            alone.last_day,
        )
        assert record.history is not None
        for event in record.history.events:
            assert f"  d{event.day} " in text and event.text.say(language) in text
        for series in record.history.series:
            last = f"d{int(series.days[-1])} {series.values()[-1]:.{series.decimals}f}"
            assert any(line.startswith(f"  {series.name}") and line.endswith(last) for line in text.split("\n"))
        for pack in record.dispensing:
            assert f"d{pack.day} {pack.dose:g}x{pack.days_supplied}" in text
        for draw in record.specimens:
            assert f"\nd{draw.day} {draw.minute_of_day // 60:02d}:{draw.minute_of_day % 60:02d} " in text
        assert not any(labels.say(name, language) in without for name in HEADINGS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_leak_guard_finds_nothing_in_the_parts_and_finds_a_day_after_t_in_them(language: Language) -> None:
    record = charts()[2].record.until(120)
    item = replace(make_item(language=language), record=record)
    text = render_record(record, language, knowledge())
    assert check_delivery(text, item=item, day=120) == []
    late = replace(record, dispensing=(*record.dispensing, replace(record.dispensing[-1], day=121)))
    found = check_delivery(render_record(late, language, knowledge()), item=item, day=120)
    assert [(each.check, each.found) for each in found] == [("leak_day", "d121")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_haemolysed_sample_a_new_method_and_a_finding_are_told_in_words_of_the_language(language: Language) -> None:
    usual, other = list(knowledge().platforms.values())[:2]
    record = replace(
        make_record(),
        specimens=(Specimen(60, 905, False, "hospital", usual.id, "in_vitro_haemolysis"),),
        method_changes=(MethodChange(90, "creatinine", usual.id, other.id),),
        findings=(FindingResult(60, "office_sbp", False, 124, 0), FindingResult(60, "pitting_oedema", False, None, 0)),
    )
    said = load_labels(LABELS).say
    lines = render_record(record, language, knowledge()).split("\n")
    drawn = next(line for line in lines if line.startswith("d60 15:05 "))
    noticed = said("comment", language, text=knowledge().factors["in_vitro_haemolysis"].names.say(language))
    assert all(each in drawn for each in (said("not_fasting", language), said("site:hospital", language), noticed))
    changed = next(line for line in lines if line.startswith("d90 ") and knowledge().analytes["creatinine"].names.say(language) in line)
    assert changed.index(usual.names.say(language)) < changed.index(other.names.say(language))
    row = knowledge().findings["pitting_oedema"]
    found = next(line for line in lines if line.startswith("d60 ") and row.names.say(language) in line)
    assert row.negative is not None and row.negative.say(language) in found and "124 mmHg" in found
