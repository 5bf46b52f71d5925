"""Claims about whole cohorts: the same patient everywhere, nothing lost or doubled, equal bytes."""

import errno
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from cohort_case import KNOWN, SEED, files_of, keep, make, plan, read_people, read_rows, rows_of

from clinworld.cohort import patient as patient_file
from clinworld.cohort.build import build_cohort
from clinworld.cohort.codes import code_by_id
from clinworld.cohort.patient import TASK, Built, Wanted, build_patient, build_patients, drawn_job
from clinworld.cohort.places import list_case_ids, name_case
from clinworld.cohort.rows import RowBlock
from clinworld.core.digest import digest_value
from clinworld.core.errors import PremiseConflict, StampMismatch, StoreError, UsageError
from clinworld.core.rng import Rng
from clinworld.core.store import hold_lock, read_json, write_json
from clinworld.packs.load import load_pack
from clinworld.run.build import build_batch
from clinworld.schema.premise import Conflict
from clinworld.world.draw import drawn_id
from clinworld.world.job_file import read_job

pytestmark = pytest.mark.rows

pq = pytest.importorskip("pyarrow.parquet", reason="cohorts need the extra `tables`")


@pytest.fixture(scope="module")
def six(tmp_path_factory):
    """Six patients in one shard."""
    out = tmp_path_factory.mktemp("six")
    make(out, 6)
    return out


@pytest.fixture(scope="module")
def two_shards(tmp_path_factory):
    """Two patients without daily streams in a shard each."""
    out = tmp_path_factory.mktemp("two_shards")
    make(out, 2, shard_size=1, wanted=Wanted(has_daily=False))
    return out


def is_of_a_part(row) -> bool:
    """Whether a row (day, code, value, unit, source, text) is of a part of the record that only other packs ask for."""
    day, code, *_, source, _ = row
    return day < 0 or source == "dispensing" or "//" in code or code.startswith(("CLINWORLD/finding/", "CLINWORLD/specimen/"))


def test_a_patient_is_that_of_a_single_case_build(six, tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(f"{{job_id: same, task: {TASK}, seed: {SEED}, items: 6}}")
    job = read_job(path, KNOWN)
    batch = build_batch(job, load_pack(TASK), KNOWN, tmp_path).batch
    charts = {gold.case_id: gold for gold in batch.gold_rows().values()}
    found = [person for person in read_people(six) if person["case"] in charts]
    assert len(found) >= 4
    codes = code_by_id(KNOWN)
    for person in found:
        gold = charts[person["case"]]
        chart = gold.chart
        rows = rows_of(six, int(person["patient"]))
        wanted = [
            (day, codes[series.name], value, series.unit, series.setting, None)
            for series in chart.series
            for day, value in zip(series.days.tolist(), series.values().tolist(), strict=True)
        ]
        wanted += [(p.day, f"CLINWORLD/drug/{p.drug}", p.dose, p.unit, "prescription", None) for p in chart.prescriptions]
        assert [row for row in rows if not is_of_a_part(row)] == sorted(wanted, key=lambda row: row[:2])
        told = (person["sex"], person["age_low"], person["bmi"], tuple(person["conditions"]), tuple(person["devices"]), person["drug"])
        who = chart.profile
        assert told == (who.sex, who.age_low, who.bmi, who.known_conditions, who.devices, gold.premise.drug)
        assert (person["last_day"], person["rows"]) == (chart.last_day, len(rows))


@pytest.mark.parametrize("changes", [{"patients": 3}, {"first": 2, "patients": 3}, {"shard_size": 2}, {"language": "zh"}], ids=str)
def test_a_patients_rows_do_not_depend_on_how_many_others_there_are_or_how_they_are_split(six, tmp_path, changes):
    make(tmp_path, **{"patients": 6, **changes})
    people = read_people(tmp_path)
    assert [int(person["patient"]) for person in people] == list(range(changes.get("first", 0), changes.get("first", 0) + len(people)))
    places = {person["patient"] for person in people}
    assert read_rows(tmp_path).equals(keep(read_rows(six), "patient", places))
    assert people == [person for person in read_people(six) if person["patient"] in places]


@pytest.mark.slow
def columns_of(built: Built) -> list[object]:
    """The rows of one patient, in bytes, and how it was drawn."""
    block = RowBlock(KNOWN)
    block.add(built.record)
    columns = block.take()
    assert len(columns.value) > 100
    return [*(column if isinstance(column, list) else column.tobytes() for column in columns), built.case_id, built.draws]


def test_patients_built_side_by_side_are_those_built_one_by_one():
    names, job = [name_case(number) for number in list_case_ids(SEED, 3, 5).tolist()], drawn_job(SEED)
    together = build_patients(3, names, job, Wanted(), KNOWN, Rng(SEED))
    alone = [build_patient(place, name, job, Wanted(), KNOWN, Rng(SEED)) for place, name in enumerate(names, 3)]
    assert [columns_of(built) for built in together] == [columns_of(built) for built in alone]


@pytest.mark.slow
def test_two_workers_write_the_bytes_that_one_writes(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    make(one, 3, shard_size=2)
    make(two, 3, shard_size=2, workers=2)
    assert files_of(one) == files_of(two)
    assert read_json(one / "cohort.json")["digest"] == read_json(two / "cohort.json")["digest"]


def test_leaving_out_the_daily_streams_moves_nothing_else(six, tmp_path):
    make(tmp_path, 6, wanted=Wanted(has_daily=False))
    kept, whole = read_rows(tmp_path), read_rows(six)
    daily = {code_by_id(KNOWN)[row.id] for row in KNOWN.streams.values() if row.id not in ("weight_clinic", "med_adherence")}
    assert kept.equals(keep(whole, "code", daily, out=True))
    assert 0 < len(kept) < len(whole) / 10


@pytest.mark.slow
def test_specimens_move_laboratory_results_only(six, tmp_path):
    make(tmp_path, 6, wanted=Wanted(has_specimens=True))
    moved, whole = (keep(rows, "source", ["laboratory"], out=True) for rows in (read_rows(tmp_path), read_rows(six)))
    assert moved.equals(whole)


@pytest.mark.slow
def test_notes_are_there_only_when_asked_for_in_the_language_asked_for(tmp_path):
    make(tmp_path / "none", 3, wanted=Wanted(has_daily=False))
    said = {}
    for language in ("en", "zh"):
        make(tmp_path / language, 3, wanted=Wanted(has_daily=False, has_notes=True), language=language)
        rows, without = read_rows(tmp_path / language), read_rows(tmp_path / "none")
        told = set(rows["code"].to_pylist()) - set(without["code"].to_pylist())
        said[language] = keep(rows, "code", told)["text"].to_pylist()
        assert keep(rows, "code", told, out=True).equals(without)
    assert len(said["en"]) == len(said["zh"]) > 0
    assert all(text.isascii() for text in said["en"]) and not any(text.isascii() for text in said["zh"])


def test_rows_stand_by_patient_day_and_code_and_numbers_have_no_text(six):
    rows = read_rows(six)
    assert rows.equals(rows.sort_by([("patient", "ascending"), ("day", "ascending"), ("code", "ascending")]).combine_chunks())
    numbers = rows.filter(rows["value"].is_valid())
    assert 0.99 * len(rows) < len(numbers) == numbers["text"].null_count


def test_the_shards_have_the_documented_columns(six):
    schema = pq.read_schema(six / "patients-00000.parquet")
    word = "dictionary<values=string, indices=int32, ordered=0>"
    kinds = {"patient": word, "day": "int32", "code": word, "value": "double", "unit": word, "source": word, "text": word}
    assert {field.name: str(field.type) for field in schema} == kinds
    assert [field.name for field in schema if field.nullable] == ["value", "unit", "text"]


def test_the_docs_explain_every_column_in_its_type(six):
    page = (Path(__file__).parents[2] / "docs" / "cohort.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| (`[^|]+`) \| (\w+)", page, re.MULTILINE)
    kinds = {name: kind for names, kind in reversed(told) for name in re.findall(r"`(\w+)`", names)}
    shown = {"double": "float64", "list<element: string>": "list", "dictionary<values=string, indices=int32, ordered=0>": "string"}
    for name in ("patients-00000.parquet", "people.parquet"):
        for field in pq.read_schema(six / name):
            assert kinds[field.name] == shown.get(str(field.type), str(field.type)), field
    assert {field.name for field in pq.read_schema(six / "codes.parquet")} <= kinds.keys()


def test_the_description_counts_what_is_there_and_shows_no_seed(six):
    row, rows = read_json(six / "cohort.json"), read_rows(six)
    assert row["counts"] == {"patients": 6, "rows": len(rows), "shards": 1, "drawn_again": 0}
    codes = pq.read_table(six / "codes.parquet").to_pylist()
    assert {code["code"]: code["rows"] for code in codes} == Counter(rows["code"].to_pylist())
    assert row["arguments"]["seed_digest"] == digest_value(["seed", SEED], length=32)
    assert "seed" not in row["arguments"]
    lines = (six / "codes.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(codes) + 1


class Stop(Exception):
    """What a test stops a run with."""


def stopped(out: Path, after: int, **changes):
    """Make a cohort and stop when so many patients are done."""
    done = 0

    def begin(_total):
        def advance(count):
            nonlocal done
            done += count
            if done >= after:
                raise Stop

        return advance

    with pytest.raises(Stop):
        build_cohort(out, plan(**changes), knowledge=KNOWN, begin=begin)


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_no_patient_lost_or_doubled(tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "out"
    make(whole, 5, shard_size=2)
    stopped(out, 3, patients=5, shard_size=2)
    assert [path.name for path in sorted(out.glob("patients-*"))] == ["patients-00000.parquet"]
    summary = make(out, 5, shard_size=2)
    assert (summary.kept, summary.patients) == (2, 3)
    assert files_of(out) == files_of(whole)
    assert make(out, 5, shard_size=2).patients == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["patients-00001.parquet", "people.parquet", "codes.csv", "cohort.json", ".shards.jsonl"], ids=lambda name: name.strip(".")
)
def test_a_lost_or_damaged_file_is_made_again(two_shards, tmp_path, name):
    whole, out = files_of(two_shards), tmp_path / "out"
    shutil.copytree(two_shards, out)
    if name.startswith("patients"):
        (out / name).write_bytes((out / name).read_bytes()[:-7])
    elif name == "cohort.json":
        write_json(out / name, {**read_json(out / name), "state": "building"})
    else:
        (out / name).unlink()
    make(out, 2, shard_size=1, wanted=Wanted(has_daily=False))
    assert files_of(out) == whole


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"patients": 3}, ("patients 6", "patients 3")),
        ({"first": 5}, ("first 0", "first 5")),
        ({"shard_size": 7}, ("shard_size 1,000", "shard_size 7")),
        ({"seed": "12"}, ("seed_digest",)),
        ({"language": "zh"}, ("language en", "language zh")),
        ({"wanted": Wanted(has_daily=False)}, ("daily yes", "daily no")),
        ({"wanted": Wanted(has_notes=True)}, ("notes no", "notes yes")),
    ],
    ids=str,
)
def test_going_on_with_other_arguments_is_refused_with_both_values(six, changes, says):
    before = files_of(six)
    with pytest.raises(UsageError) as refused:
        make(six, **{"patients": 6, **changes})
    assert all(part in str(refused.value) for part in says)
    assert files_of(six) == before


def test_going_on_under_another_world_is_refused(six):
    with pytest.raises(StampMismatch, match=r"world 0000000000000000.*world 1111111111111111"):
        make(six, 6, stamps={"world": "1" * 16})


def test_a_second_writer_is_told_and_writes_nothing(tmp_path):
    with hold_lock(tmp_path), pytest.raises(StoreError, match="another clinworld process"):
        make(tmp_path, 1)
    assert files_of(tmp_path) == {}


def test_a_full_disk_is_one_message_and_leaves_no_half_file(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("clinworld.cohort.shard.os.fsync", fail)
    with pytest.raises(StoreError, match="cannot be written"):
        make(tmp_path, 1, wanted=Wanted(has_daily=False))
    assert files_of(tmp_path) == {} and not list(tmp_path.glob(".*.parquet*"))


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.docx").write_text("x")
    with pytest.raises(UsageError, match=r"holds thesis\.docx"):
        make(tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.docx"]


def test_a_case_that_contradicts_itself_is_drawn_again_as_a_build_would(monkeypatch):
    job, rng, first = drawn_job(SEED), Rng(SEED), name_case(int(list_case_ids(SEED, 0, 1)[0]))
    real = patient_file.check_premise

    def refuse_first(premise, case, knowledge):
        return (Conflict("x", "y", "z", "", ""),) if premise.case_id == first else real(premise, case, knowledge)

    assert build_patient(0, first, job, Wanted(), KNOWN, rng).draws == 1
    monkeypatch.setattr(patient_file, "check_premise", refuse_first)
    built = build_patient(0, first, job, Wanted(), KNOWN, rng)
    assert (built.case_id, built.draws) == (drawn_id(digest_value([SEED, "drawn again", 1]), 0), 2)


def test_a_place_at_which_every_draw_contradicts_itself_is_an_error(monkeypatch):
    monkeypatch.setattr(patient_file, "check_premise", lambda *_: (Conflict("x", "y", "z", "", ""),))
    with pytest.raises(PremiseConflict):
        build_patient(0, "D00000000", drawn_job(SEED), Wanted(), KNOWN, Rng(SEED))


def test_drawing_again_takes_the_ids_that_a_build_takes():
    from clinworld.run.build_drawn import redraw_cases

    job = replace(drawn_job(SEED), items=3)
    again = redraw_cases(job, load_pack(TASK), KNOWN, 1, [2], set())
    assert again[2].case_id == drawn_id(digest_value([SEED, "drawn again", 1]), 2)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_run_goes_on_with_no_patient_lost_or_doubled(tmp_path, workers):
    whole, out = tmp_path / "whole", tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "clinworld",
        "cohort",
        "--patients",
        "84",
        "--seed",
        SEED,
        "--shard-size",
        "7",
        "--without-daily",
        "--out",
    ]
    subprocess.run([*command, str(whole)], check=True)
    for wanted in (1, 4, 6):
        process = subprocess.Popen([*command, str(out), "--workers", str(workers)], stdout=subprocess.DEVNULL)
        while len(list(out.glob("patients-*.parquet"))) < wanted and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.03 * wanted)
        process.kill()
        process.wait()
    assert len(list(out.glob("patients-*.parquet"))) < 12
    subprocess.run([*command, str(out), "--workers", str(workers)], check=True)
    assert files_of(out) == files_of(whole)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_patients(tmp_path):
    def peak_mb(patients: int) -> float:
        command = [sys.executable, "-m", "clinworld", "cohort", "--patients", str(patients), "--seed", SEED, "--without-daily", "--quiet"]
        process = subprocess.Popen([*command, "--out", str(tmp_path / str(patients))], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return usage.ru_maxrss / 1024

    assert peak_mb(3000) < peak_mb(1000) + 25
