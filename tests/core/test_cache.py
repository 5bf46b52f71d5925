"""A cache gives what was computed, never anything else, and nobody needs it."""

import pytest

from clinworld.core.cache import MOST_KEPT, remember
from clinworld.core.settings import CACHE_VARIABLE, cache_folder


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def read_number(value):
    if not isinstance(value, int):
        raise TypeError(value)
    return value


def count_calls(value=7):
    calls = []

    def compute():
        calls.append(1)
        return value

    return calls, compute


def test_a_value_is_computed_once_for_a_key():
    calls, compute = count_calls()
    assert [remember("numbers", "a", compute, read_number) for _ in range(3)] == [7, 7, 7]
    assert len(calls) == 1
    remember("numbers", "b", compute, read_number)
    assert len(calls) == 2


@pytest.mark.parametrize("raw", [b"", b"{", b'"seven"', b"\xff", b"null"])
def test_a_file_that_is_not_what_was_kept_is_computed_again_and_replaced(folder, raw):
    calls, compute = count_calls()
    remember("numbers", "a", compute, read_number)
    (folder / "numbers" / "a.json").write_bytes(raw)
    assert [remember("numbers", "a", compute, read_number) for _ in range(2)] == [7, 7]
    assert len(calls) == 2


def test_a_folder_that_cannot_be_made_does_not_stop_the_work(folder):
    folder.write_text("a file where the folder should be")
    calls, compute = count_calls()
    assert [remember("numbers", "a", compute, read_number) for _ in range(2)] == [7, 7]
    assert len(calls) == 2


def test_only_the_newest_files_of_a_kind_are_kept(folder):
    for key in range(MOST_KEPT + 5):
        remember("numbers", str(key), lambda: 1, read_number)
    remember("others", "a", lambda: 1, read_number)
    assert len(list((folder / "numbers").glob("*.json"))) == MOST_KEPT
    assert len(list((folder / "others").iterdir())) == 1


def test_the_folder_is_the_named_one_or_the_users_own(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "xdg" / "clinworld"
