"""Claims about damaged bookkeeping: it is refused in one message or healed, no patient is built without need, and nothing wrong is said."""

import copy
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cohort_case import KNOWN, files_of, make, plan
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clinworld.cohort.bookkeeping import begin_description
from clinworld.cohort.build import build_cohort
from clinworld.cohort.patient import Wanted
from clinworld.cohort.shard import patient_id
from clinworld.core.errors import ClinworldError, StoreError
from clinworld.core.store import read_json, read_rows, write_json, write_lines

pq = pytest.importorskip("pyarrow.parquet", reason="cohorts need the extra `tables`")

PLAN = plan(2, shard_size=1, wanted=Wanted(has_daily=False))
DESCRIPTION, JOURNAL = "cohort.json", ".shards.jsonl"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Two patients without daily streams, in a shard each."""
    out = tmp_path_factory.mktemp("whole")
    make_again(out)
    return out


@pytest.fixture
def out(whole, tmp_path):
    """A copy of them."""
    return Path(shutil.copytree(whole, tmp_path / "out"))


def make_again(out: Path):
    """Make the cohort, or what is missing of it."""
    return build_cohort(out, PLAN, knowledge=KNOWN)


def said(out: Path) -> dict:
    """cohort.json without what differs between two runs."""
    return {name: value for name, value in read_json(out / DESCRIPTION).items() if name != "making"}


def places(value, here=()):
    """Every place in a JSON value."""
    yield here
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*here, key))


def damage(value, draw):
    """A JSON value with one of its values replaced, removed, or under another key."""
    damaged = copy.deepcopy(value)
    *way, last = ("top", *draw(st.sampled_from(list(places(value)))))
    holder = box = {"top": damaged}
    for key in way:
        holder = holder[key]
    match draw(st.sampled_from(["replaced", "removed", "renamed"])):
        case "removed" if way:
            del holder[last]
        case "renamed" if way and isinstance(holder, dict):
            holder[draw(st.text(max_size=8))] = holder.pop(last)
        case _:
            holder[last] = draw(VALUES)
    return box["top"]


@pytest.mark.parametrize("name", ["finished", "begun", "journal"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data())
def test_any_damage_of_one_value_is_refused_or_healed(whole, name, draw):
    with TemporaryDirectory() as folder:
        out = Path(shutil.copytree(whole, Path(folder) / "out"))
        row = read_json(out / DESCRIPTION)
        match name:
            case "finished":
                write_json(out / DESCRIPTION, damage(row, draw.draw))
            case "begun":
                write_json(out / DESCRIPTION, damage(begin_description(row["arguments"], row["made_with"]), draw.draw))
            case _:
                rows = list(read_rows(out / JOURNAL))
                which = draw.draw(st.integers(0, len(rows) - 1))
                write_lines(out / JOURNAL, [damage(each, draw.draw) if i == which else each for i, each in enumerate(rows)])
        try:
            summary = make_again(out)
        except ClinworldError as refused:
            assert refused.exit_code in (2, 5) and str(out) in str(refused) and "\n" not in str(refused)
            assert {k: v for k, v in files_of(out).items() if k != DESCRIPTION} == files_of(whole)
        else:
            assert (summary.patients, summary.kept) == (0, 2)
            assert summary.row == said(out) == said(whole)
            assert files_of(out) == files_of(whole)


@pytest.mark.parametrize(
    ("damaged", "says"),
    [
        ([], "[]; an object is expected"),
        ({"counts": {"patients": 2, "rows": 9, "drawn_again": 0}}, "no key 'counts.shards'"),
        ({"counts": {"patients": 2, "rows": 1, "shards": 2, "drawn_again": 0}}, "digest "),
        ({"tables": []}, "'tables' is []; input should be a valid dictionary"),
        ({"made_with": 3}, "'made_with' is 3"),
        ({"arguments": []}, "'arguments' is []"),
        ({"shards": None}, "'shards' is None"),
        ({"shards": {}}, "'shards' is {}"),
        ({"state": "doen"}, "'state' is 'doen'; input should be 'building' or 'done'"),
        ({"digest": "x"}, "'digest' is 'x'"),
        ({"digest": "0" * 16}, "digest 0000000000000000; that of what it says is"),
        ({"coutns": 1}, "unknown key 'coutns'"),
    ],
    ids=str,
)
def test_a_damaged_description_is_one_message_with_file_finding_and_way_out(out, damaged, says):
    write_json(out / DESCRIPTION, damaged if isinstance(damaged, list) else {**read_json(out / DESCRIPTION), **damaged})
    with pytest.raises(StoreError) as refused:
        make_again(out)
    assert str(refused.value).startswith(f"{out / DESCRIPTION}: {says}")
    assert str(refused.value).endswith("Restore the file, or remove it and run the same command again: what is whole is kept.")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda row: [], "[]; an object is expected"),
        (lambda row: {"nubmer" if name == "number" else name: value for name, value in row.items()}, "unknown key 'nubmer'. Did you mean"),
        (lambda row: {**row, "rows": "9"}, "'rows' is '9'; input should be a valid integer"),
        (lambda row: {**row, "codes": {"a": -1}}, "'codes.a' is -1"),
        (lambda row: {**row, "rows": row["rows"] + 1}, f"digest {'{digest}'}; that of what it says, under the arguments given, is"),
    ],
    ids=["list", "renamed", "text", "negative", "changed"],
)
def test_a_damaged_journal_line_is_told_with_its_number_and_without_it_its_shard_is_made_again(whole, out, change, says):
    first, second = read_rows(out / JOURNAL)
    write_lines(out / JOURNAL, [first, change(second)])
    with pytest.raises(StoreError) as refused:
        make_again(out)
    assert str(refused.value).startswith(f"{out / JOURNAL}, line 2: {says.format(digest=second['digest'])}")
    assert str(refused.value).endswith("or remove the line to have its shard made again.")
    write_lines(out / JOURNAL, [first])
    assert make_again(out).patients == 1
    assert files_of(out) == files_of(whole) and said(out) == said(whole)


@pytest.mark.parametrize(("name", "do"), [(DESCRIPTION, "remove it and run"), (JOURNAL, "line 1: not JSON")])
def test_what_is_no_json_can_be_removed_like_any_other_damage(whole, out, name, do):
    (out / name).write_bytes(b"x" + (out / name).read_bytes())
    with pytest.raises(StoreError, match="not JSON") as refused:
        make_again(out)
    assert do in str(refused.value) and "remove" in str(refused.value)


def test_without_its_description_a_cohort_is_described_again_and_no_patient_built(whole, out):
    (out / DESCRIPTION).unlink()
    assert make_again(out).line().startswith("Wrote people.parquet, codes.parquet, codes.csv, cohort.json; no patient was missing of 2")
    assert files_of(out) == files_of(whole) and said(out) == said(whole)
    assert not list(out.glob(".people-*"))


def test_without_its_description_a_cohort_is_not_taken_for_one_of_other_arguments(out):
    (out / DESCRIPTION).unlink()
    before = files_of(out)
    with pytest.raises(StoreError, match="under the arguments given"):
        make(out, 2, shard_size=1, wanted=Wanted(has_daily=False), seed="12")
    assert files_of(out) == before and not (out / DESCRIPTION).exists()


@pytest.mark.parametrize("name", ["codes.csv", "codes.parquet"])
@pytest.mark.parametrize("fault", ["lost", "damaged"])
def test_a_table_of_codes_alone_is_written_again_without_building_a_patient(whole, out, name, fault):
    (out / name).unlink() if fault == "lost" else (out / name).write_bytes(b"x")
    summary = make_again(out)
    assert (summary.patients, summary.kept, summary.written) == (0, 2, (name,))
    assert summary.line().startswith(f"Wrote {name}; no patient was missing of 2 patients")
    assert files_of(out) == files_of(whole) and said(out) == said(whole)
    assert make_again(out).line().startswith("Nothing was missing of 2 patients")


def test_a_damaged_people_table_costs_only_the_shards_it_no_longer_gives(whole, out):
    path = out / "people.parquet"
    raw = bytearray(path.read_bytes())
    at = pq.ParquetFile(path).metadata.row_group(0).column(0).dictionary_page_offset
    raw[at : at + 8] = b"\xff" * 8
    path.write_bytes(raw)
    assert make_again(out).patients == 1
    assert files_of(out) == files_of(whole) and said(out) == said(whole)
    assert patient_id(0) in pq.read_table(path)["patient"].to_pylist()


@pytest.mark.parametrize("name", ["patients-00000.parquet", "people.parquet", "codes.csv", ".people-00001.parquet", "cohort.json"])
def test_a_folder_in_place_of_a_file_is_called_a_folder(out, name):
    (out / name).unlink(missing_ok=True)
    (out / name).mkdir()
    with pytest.raises(StoreError) as refused:
        make_again(out)
    assert str(refused.value) == (f"{out / name}: a folder; a file of the cohort is to be there. Remove it and run the same command again.")
