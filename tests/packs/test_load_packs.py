import shutil
import sys
from pathlib import Path

import pytest

from clinworld.core.errors import PackError
from clinworld.packs import load
from clinworld.packs.declaration import read_card, read_declaration
from clinworld.packs.load import WritesPack, find_card, list_cards, load_pack, pack_folders, pack_names

PACKAGED = Path(load.__file__).parent
OUTSIDE = """\
pack: outside
version: 1
asks: {en: What now?, zh: 现在怎么办?}
episodes: [single]
sees: [profile, prescriptions, streams, labs, notes]
languages: [en]
gates: [premise_holds]
judges:
  direction: {use: direction}
score:
  dimensions:
    direction: {verdict: direction, direction: higher, join: mean_by_outcome, role: skill, floor: best_constant}
controls: [silence]
"""
FILES = {
    "prompt.en.md": "{{record}}\n",
    "plan.py": "def derive_gold(premise, knowledge): return 'planned'\n",
    "gold.py": "def read_gold(*a): return 'read'\ndef agrees(a, b): return []\n",
    "answer.py": "from pydantic import BaseModel\nclass AnswerModel(BaseModel):\n    x: int | None = None\n",
    "controls.py": "CONTROLS = {'silence': None}\n",
}


def make_outside(folder: Path, declaration: str = OUTSIDE) -> Path:
    folder.mkdir()
    (folder / "pack.yaml").write_text(declaration, encoding="utf-8")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_the_folders_are_the_registry_and_a_pack_of_questions_is_one_that_names_no_kind() -> None:
    kinds = {name: card.kind for name, card in list_cards().items()}
    assert kinds == {"early_warning": "questions", "emr_write": "record_writes", "tracking_review": "questions"}
    assert pack_names() == ("early_warning", "tracking_review")
    assert {path.parent.name for path in PACKAGED.glob("*/pack.yaml")} == set(kinds)


def test_a_pack_without_questions_is_refused_where_they_are_needed_with_what_it_is_used_by() -> None:
    for name in ("emr_write", PACKAGED / "emr_write"):
        with pytest.raises(PackError, match=r"kind record_writes.*`clinworld certify emr_write`.*environments/") as told:
            load_pack(name)
        assert told.value.exit_code == 2 and told.value.kind == "pack_without_questions"
    assert find_card("emr_writ") is None


def test_what_a_pack_of_record_writes_holds_is_read_from_where_it_lives() -> None:
    from clinworld.packs.emr_write.checker.verdict import ALL_RULES
    from clinworld.packs.emr_write.faults.registry import load_faults

    contents = WritesPack(list_cards()["emr_write"]).list_contents()
    assert set(contents["rules"]) == ALL_RULES and contents["faults"] == tuple(load_faults())
    declared = (PACKAGED / "emr_write" / "pack.yaml").read_text(encoding="utf-8")
    assert not [name for names in contents.values() for name in names if name in declared]


WRITES = (PACKAGED / "emr_write" / "pack.yaml").read_text(encoding="utf-8").replace("pack: emr_write", "pack: outside")


def test_an_outside_pack_of_record_writes_is_listed_and_not_asked(tmp_path: Path) -> None:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "pack.yaml").write_text(WRITES, encoding="utf-8")
    assert list_cards([folder])["outside"].kind == "record_writes" and "outside" not in pack_names([folder])


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("kind: record_writes", "kind: record_write", r"line \d+, kind: 'record_write'.*Did you mean 'record_writes'"),
        ("kind: record_writes", "kind: questions", r"'questions'.*Leave it out for a pack of questions"),
        ("kind: record_writes", "kind: [record_writes]", "allowed: record_writes"),
        ("version: 1", "version: 0", "whole number"),
        ("languages: [en, zh]\n", "", "no 'languages'"),
        ("used_by:", "used_for:", "Did you mean 'used_by'"),
        ("pack: outside", "pack: outside\nepisodes: [single]", "the key 'episodes'"),
        ("  - clinworld serve policy\n", "  - 1\n", "a list of commands"),
    ],
)
def test_a_mistake_in_the_card_of_a_pack_of_record_writes_is_refused(tmp_path: Path, written: str, instead: str, message: str) -> None:
    assert written in WRITES
    (tmp_path / "pack.yaml").write_text(WRITES.replace(written, instead, 1), encoding="utf-8")
    with pytest.raises(PackError, match=message):
        read_card(tmp_path)


@pytest.mark.parametrize("name", pack_names())
def test_a_packaged_pack_loads_whole(name: str) -> None:
    loaded = load_pack(name)
    assert loaded.pack.name == name and loaded.pack.languages == ("en", "zh")
    assert callable(loaded.derive_gold) and callable(loaded.read_gold) and callable(loaded.agrees) and callable(loaded.draw_cases)
    assert "forecast" in loaded.answer_model.model_fields
    assert tuple(loaded.controls) == loaded.pack.controls
    assert load_pack(PACKAGED / name) == loaded


def test_each_pack_starts_with_its_own_episode() -> None:
    assert load_pack("early_warning").pack.episodes == ("single", "rounds")
    assert load_pack("tracking_review").pack.episodes == ("rounds", "single")


@pytest.mark.parametrize("name", pack_names())
def test_every_judge_and_gate_a_pack_names_exists(name: str) -> None:
    pack = load_pack(name).pack
    root = PACKAGED.parent
    for use in pack.judges:
        assert (root / "judges" / f"{use.judge}.py").is_file(), use.judge
    for gate in pack.gates:
        assert (root / "gates" / "item" / f"{gate}.py").is_file(), gate
    for dimension in pack.dimensions:
        assert dimension.verdict in {use.name for use in pack.judges}


@pytest.mark.parametrize("name", pack_names())
def test_a_packs_readme_has_the_seven_headings(name: str) -> None:
    text = (PACKAGED / name / "README.md").read_text(encoding="utf-8")
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["Decision", "View", "Answer", "Gold", "Judges", "Controls", "Known limits"]


def test_an_outside_pack_loads_without_being_registered(tmp_path: Path) -> None:
    folder = make_outside(tmp_path / "outside")
    before = set(sys.modules)
    loaded = load_pack("outside", extra_dirs=[folder])
    assert (loaded.derive_gold(None, None), loaded.read_gold(), loaded.agrees(1, 2)) == ("planned", "read", [])
    assert list(loaded.answer_model.model_fields) == ["x"] and list(loaded.controls) == ["silence"]
    assert load_pack(folder).pack == loaded.pack
    assert not [name for name in set(sys.modules) - before if "outside" in name]
    assert pack_names([folder]) == ("early_warning", "outside", "tracking_review") and "outside" not in pack_names()


def test_the_order_in_which_packs_are_named_does_not_matter(tmp_path: Path) -> None:
    one = make_outside(tmp_path / "one")
    two = make_outside(tmp_path / "two", OUTSIDE.replace("pack: outside", "pack: beyond"))
    assert pack_folders([one, two]) == pack_folders([two, one, two])
    assert list(pack_folders([two, one])) == ["beyond", "early_warning", "outside", "tracking_review"]


def test_an_outside_folder_that_adds_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackError, match=r"no pack\.yaml"):
        load_pack("early_warning", extra_dirs=[tmp_path])
    folder = make_outside(tmp_path / "again", OUTSIDE.replace("pack: outside", "pack: early_warning"))
    with pytest.raises(PackError, match=r"'early_warning', which .* has"):
        pack_names([folder])


def test_a_pack_of_an_entry_point_is_found_and_one_without_a_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_outside(tmp_path / "outside")

    class Point:
        def __init__(self, file: str | None) -> None:
            self.name = self.value = "outside"
            self.file = file

        def load(self) -> object:
            module = type(sys)("outside")
            if self.file:
                module.__file__ = self.file
            return module

    monkeypatch.setattr(load, "entry_points", lambda group: [Point(str(folder / "__init__.py"))])
    assert "outside" in pack_names()
    monkeypatch.setattr(load, "entry_points", lambda group: [Point(None)])
    with pytest.raises(PackError, match="no module with a file"):
        pack_names()


def test_an_unknown_pack_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(PackError, match=r"'early_warnin'.*Did you mean 'early_warning'"):
        load_pack("early_warnin")


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("sees:", "see:", r"line \d+, see: the key 'see'.*Did you mean 'sees'"),
        ("version: 1", "version: one", r"version: 'one'.*whole number"),
        ("version: 1\n", "", "no 'version'"),
        ("episodes: [single]", "episodes: [singel]", r"'singel'.*Did you mean 'single'"),
        ("episodes: [single]", "episodes: []", "nothing; allowed"),
        ("labs, notes]", "labs, notes, hystory]", r"'hystory'.*Did you mean 'history'"),
        ("labs, notes]", "notes]", "no 'labs'"),
        ("gates: [premise_holds]", "gates: premise_holds", "list of words"),
        ("gates: [premise_holds]", "gates: [premise_holds, premise_holds]", "twice"),
        ("{use: direction}", "{using: direction}", "no 'use'"),
        ("role: skill", "role: skills", r"'skills'.*Did you mean 'skill'"),
        (", floor: best_constant", ", floor: best_constant, paired_with: risk", r"paired_with: 'risk'"),
        ("languages: [en]", "languages: [en, zh]", r"'zh' without prompt\.zh\.md"),
        ("asks: {en: What now?,", "asks: {", "no text for 'en'"),
        ("pack: outside", "pack: Out Side", "lower-case word"),
        ("version: 1", "version: 1\nversion: 2", "twice"),
        ("score:\n", "score:\n  top: 1\n", "the key 'top'"),
    ],
)
def test_a_mistake_in_a_declaration_is_refused_with_its_line_and_the_nearest_word(
    tmp_path: Path, written: str, instead: str, message: str
) -> None:
    assert written in OUTSIDE
    folder = make_outside(tmp_path / "outside", OUTSIDE.replace(written, instead, 1))
    with pytest.raises(PackError, match=message):
        read_declaration(folder)


@pytest.mark.parametrize(("file", "text"), [("plan.py", "def derive_golds(): ...\n"), ("controls.py", "CONTROLS = {'silenc': None}\n")])
def test_a_pack_without_a_declared_function_or_control_is_refused_with_the_nearest(tmp_path: Path, file: str, text: str) -> None:
    folder = make_outside(tmp_path / "outside")
    (folder / file).write_text(text)
    loaded = load_pack(folder)
    with pytest.raises(PackError, match="Did you mean"):
        _ = (loaded.derive_gold, loaded.controls)


def test_a_pack_without_a_needed_file_is_refused(tmp_path: Path) -> None:
    folder = make_outside(tmp_path / "outside")
    (folder / "gold.py").unlink()
    with pytest.raises(PackError, match=r"gold\.py: no such file"):
        _ = load_pack(folder).read_gold


def test_a_copy_of_a_packaged_folder_elsewhere_is_read_from_there(tmp_path: Path) -> None:
    shutil.copytree(PACKAGED / "early_warning", tmp_path / "early_warning")
    assert load_pack(tmp_path / "early_warning").pack.folder == (tmp_path / "early_warning").resolve()
