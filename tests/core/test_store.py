import multiprocessing
import os

import pytest

from clinworld.core.errors import StoreError
from clinworld.core.store import Appender, hold_lock, read_json, read_rows, write_atomic, write_json


def test_a_torn_last_line_is_dropped_and_written_again(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":2')
    assert list(read_rows(path)) == [{"a": 1}]
    with Appender(path) as rows:
        rows.add({"a": 2})
    assert list(read_rows(path)) == [{"a": 1}, {"a": 2}]


def test_any_other_damage_is_an_error_with_its_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a":1}\n{"a"\n{"a":3}\n')
    with pytest.raises(StoreError, match="line 2"):
        list(read_rows(path))


def _try_lock(folder, answer):
    try:
        with hold_lock(folder):
            answer.put("held")
    except StoreError as problem:
        answer.put(str(problem))


def test_a_second_writer_is_told_and_a_finished_one_blocks_nobody(tmp_path):
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    with hold_lock(tmp_path):
        other = context.Process(target=_try_lock, args=(tmp_path, answer))
        other.start()
        assert "another clinworld process" in answer.get(timeout=10)
        other.join()
    other = context.Process(target=_try_lock, args=(tmp_path, answer))
    other.start()
    assert answer.get(timeout=10) == "held"
    other.join()


def test_an_atomic_write_leaves_the_former_file_when_it_fails(tmp_path):
    write_json(tmp_path / "a.json", {"a": 1})
    with pytest.raises(StoreError, match="cannot be written"):
        write_atomic(tmp_path / "none" / "a.json", b"x")
    assert read_json(tmp_path / "a.json") == {"a": 1}
    assert os.listdir(tmp_path) == ["a.json"]


def test_broken_json_and_a_missing_file_are_store_errors(tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(StoreError, match="not JSON"):
        read_json(tmp_path / "a.json")
    with pytest.raises(StoreError, match="cannot be read"):
        read_json(tmp_path / "b.json")
