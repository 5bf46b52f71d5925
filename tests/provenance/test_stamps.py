import shutil
from pathlib import Path

import pytest

import clinworld
from clinworld.core.errors import PackError
from clinworld.provenance.stamps import _compute, compute_stamps, describe_difference

PACKAGE = Path(clinworld.__file__).parent

PACK_YAML = """pack: toy
version: 1
asks: {en: What now?, zh: q}
episodes: [single]
sees: [weight]
gates: [premise_holds]
probes: {metadata: {null: 0.99}}
judges:
  right: {use: hit, field: a}
  sure:
    use: calibration
    factor: 2
hard_gates: [unsafe]
propensity_gates: [often]
reported_gates: [seen]
score: {profile: forecast, dimensions: {right: {direction: higher}}}
languages: [en]
controls: [constant]
"""

FILES = {
    "core/rng.py": "A = 1\n",
    "core/text.py": "A = 1\n",
    "core/errors.py": "A = 1\n",
    "core/store.py": "A = 1\n",
    "schema/item.py": "A = 1\n",
    "knowledge/load.py": "A = 1\n",
    "knowledge/analytes.csv": "id,aliases,value\nhba1c,A1c,1\n",
    "knowledge/conditions/gout.yaml": "id: gout\naliases: [podagra]\nlook_alikes:\n  - {condition: ra, discriminator: urate, text: sore}\n",
    "knowledge/parameters/world.csv": "id,value\nworld_x,1\n",
    "knowledge/parameters/judges.csv": "id,value\njudges_x,1\n",
    "world/course.py": "A = 1\n",
    "gates/item/one.py": "A = 1\n",
    "access/prompt.py": "A = 1\n",
    "access/labels.csv": "id,en,zh\na,b,c\n",
    "judges/hit.py": "from clinworld.judges.reading import said\nA = 1\n",
    "judges/calibration.py": "from pathlib import Path\nTABLE = Path(__file__).with_name('bins.csv')\n",
    "judges/reading.py": "said = 1\n",
    "judges/bins.csv": "id,value\na,1\n",
    "judges/gates/unsafe.py": "A = 1\n",
    "scores/board.py": "A = 1\n",
    "report/page.py": "A = 1\n",
    "run/cells.py": "A = 1\n",
    "models/backend.py": "A = 1\n",
    "packs/load.py": "A = 1\n",
    "packs/shared/plan.py": "A = 1\n",
    "packs/shared/gold.py": "A = 1\n",
    "packs/shared/frame.en.md": "Hello\n",
    "packs/shared/reply.py": "A = 1\n",
    "packs/shared/control_texts.csv": "id,en,zh\na,b,c\n",
    "packs/toy/pack.yaml": PACK_YAML,
    "packs/toy/plan.py": "from clinworld.packs.shared.steps import A\n",
    "packs/shared/steps.py": "A = 1\n",
    "packs/toy/gold.py": "A = 1\n",
    "packs/toy/answer.py": "A = 1\n",
    "packs/toy/prompt.en.md": "Hello\n",
    "packs/toy/rubric.yaml": "a: 1\n",
    "packs/toy/reader.py": "A = 1\n",
    "packs/toy/controls.py": "A = 1\n",
    "packs/toy/README.md": "Hello\n",
    "packs/other/pack.yaml": "pack: other\n",
    "packs/other/plan.py": "A = 1\n",
    "packs/apart/plan.py": "A = 1\n",
    "packs/apart/texts.csv": "id,en,zh\na,b,c\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def stamps(tree: Path) -> dict[str, str]:
    return compute_stamps(tree / "packs/toy", package=tree).to_row()


def moved(tree: Path, name: str, former: str, later: str) -> set[str]:
    before = stamps(tree)
    text = (tree / name).read_text()
    assert former in text
    (tree / name).write_text(text.replace(former, later))
    after = stamps(tree)
    (tree / name).write_text(text)
    return {key for key in before if before[key] != after[key]}


RIGHT, SURE = "judge:right", "judge:sure"


@pytest.mark.parametrize(
    ("name", "former", "later", "expected"),
    [
        ("core/rng.py", "1", "2", {"world"}),
        ("core/text.py", "1", "2", {"exam"}),
        ("core/errors.py", "1", "2", set()),
        ("core/store.py", "1", "2", set()),
        ("schema/item.py", "1", "2", {"world"}),
        ("knowledge/load.py", "1", "2", {"world"}),
        ("knowledge/analytes.csv", "1\n", "2\n", {"world"}),
        ("knowledge/analytes.csv", "A1c", "HbA", {"judge"}),
        ("knowledge/conditions/gout.yaml", "sore", "tender", {"world"}),
        ("knowledge/conditions/gout.yaml", "podagra", "tophi", {"judge"}),
        ("knowledge/conditions/gout.yaml", "urate", "crystals", {"judge"}),
        ("knowledge/parameters/world.csv", "1", "2", {"world"}),
        ("knowledge/parameters/judges.csv", "1", "2", {"judge"}),
        ("world/course.py", "1", "2", {"world"}),
        ("gates/item/one.py", "1", "2", {"world"}),
        ("access/prompt.py", "1", "2", {"exam"}),
        ("access/labels.csv", "b", "x", {"exam"}),
        ("judges/hit.py", "A = 1", "A = 2", {"judge", RIGHT}),
        ("judges/reading.py", "1", "2", {"judge", RIGHT}),
        ("judges/bins.csv", "a,1", "a,2", {"judge", SURE}),
        ("judges/gates/unsafe.py", "1", "2", {"judge"}),
        ("scores/board.py", "1", "2", {"score"}),
        ("report/page.py", "1", "2", set()),
        ("run/cells.py", "1", "2", set()),
        ("models/backend.py", "1", "2", set()),
        ("packs/load.py", "1", "2", set()),
        ("packs/shared/plan.py", "1", "2", {"world"}),
        ("packs/shared/gold.py", "1", "2", {"judge", RIGHT, SURE}),
        ("packs/shared/steps.py", "1", "2", {"world"}),
        ("packs/shared/reply.py", "1", "2", set()),
        ("packs/shared/control_texts.csv", "b", "x", set()),
        ("packs/shared/frame.en.md", "Hello", "Hi", {"exam"}),
        ("packs/toy/plan.py", "import A", "import A as B", {"world"}),
        ("packs/toy/gold.py", "1", "2", {"judge", RIGHT, SURE}),
        ("packs/toy/answer.py", "1", "2", {"exam"}),
        ("packs/toy/prompt.en.md", "Hello", "Hi", {"exam"}),
        ("packs/toy/rubric.yaml", "1", "2", {"judge"}),
        ("packs/toy/reader.py", "1", "2", set()),
        ("packs/toy/controls.py", "1", "2", set()),
        ("packs/toy/README.md", "Hello", "Hi", set()),
        ("packs/other/plan.py", "1", "2", set()),
        ("packs/other/pack.yaml", "other", "another", set()),
        ("packs/apart/plan.py", "1", "2", set()),
        ("packs/apart/texts.csv", "b", "x", set()),
    ],
)
def test_touching_a_file_moves_exactly_its_stamp(tree, name, former, later, expected):
    assert moved(tree, name, former, later) == expected


@pytest.mark.parametrize(
    ("former", "later", "expected"),
    [
        ("version: 1", "version: 2", {"world"}),
        ("What now?", "What next?", {"exam"}),
        ("[single]", "[single, rounds]", {"exam"}),
        ("sees: [weight]", "sees: [weight, labs]", {"exam"}),
        ("languages: [en]", "languages: [en, zh]", {"exam"}),
        ("[premise_holds]", "[premise_holds, texts_clean]", {"world"}),
        ("0.99", "0.95", set()),
        ("field: a", "field: b", {"judge", RIGHT}),
        ("factor: 2", "factor: 3", {"judge", SURE}),
        ("[unsafe]", "[unsafe, unsafe_too]", {"judge"}),
        ("[often]", "[often, seldom]", {"judge"}),
        ("[seen]", "[]", {"judge"}),
        ("higher", "lower", {"score"}),
        ("controls: [constant]", "controls: []", set()),
    ],
)
def test_editing_a_block_of_the_declaration_moves_exactly_its_stamp(tree, former, later, expected):
    assert moved(tree, "packs/toy/pack.yaml", former, later) == expected


def test_a_new_file_and_a_lost_file_move_the_stamp_and_compiled_or_hidden_files_do_not(tree):
    before = stamps(tree)
    for name in ("world/__pycache__/course.pyc", "world/.cache", "knowledge/README.md"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("x")
    assert stamps(tree) == before
    (tree / "world/more.py").write_text("B = 1\n")
    assert stamps(tree)["world"] != before["world"]
    (tree / "world/more.py").unlink()
    assert stamps(tree) == before
    course = (tree / "world/course.py").read_text()
    (tree / "world/course.py").unlink()
    assert stamps(tree)["world"] != before["world"]
    (tree / "world/course.py").write_text(course)


def test_outside_knowledge_moves_the_world_stamp_by_its_content_not_by_its_place(tree, tmp_path_factory):
    rows = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    for folder in rows:
        (folder / "analytes.csv").write_text("id,aliases,value\nx,,1\n")
    first, second = (compute_stamps(tree / "packs/toy", knowledge=[folder], package=tree).to_row() for folder in rows)
    assert first == second != stamps(tree)


@pytest.mark.slow
def test_comments_docstrings_and_layout_of_the_whole_package_move_no_stamp(tmp_path):
    copy = tmp_path / "clinworld"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    packs = [path.parent.name for path in copy.glob("packs/*/pack.yaml")]
    before = [compute_stamps(copy / "packs" / name, package=copy) for name in packs]
    for path in copy.rglob("*.py"):
        path.write_text('"""Other words."""\n\n# a remark\n' + path.read_text() + "\n\n# the end\n")
    for path in [*copy.rglob("*.yaml"), *copy.glob("knowledge/**/*.csv")]:
        path.write_text("# a remark\n" + path.read_text() + "\n\n")
    assert [compute_stamps(copy / "packs" / name, package=copy) for name in packs] == before


def test_a_folder_without_declaration_has_no_stamps(tree):
    with pytest.raises(PackError, match=r"no pack\.yaml"):
        compute_stamps(tree / "packs/shared", package=tree)


def test_differences_are_told_by_name_and_meaning():
    former = {"world": "a", "exam": "b", "judge": "c", "score": "d", "judge:hit": "x", "judge:calibration": "y"}
    assert describe_difference(former, former) == ""
    told = describe_difference(former, former | {"exam": "e", "judge:hit": "z"})
    assert "exam b → e" in told and "prompts" in told and "world" not in told and told.endswith("judges that differ: hit")


def test_stamps_kept_from_another_command_are_those_computed_anew_and_an_edit_is_never_missed(tree):
    kept = stamps(tree)
    assert stamps(tree) == kept == _compute(tree / "packs/toy", (), tree).to_row()
    course = tree / "world/course.py"
    former = course.read_text()
    course.write_text("A = 3\n")
    assert stamps(tree)["world"] != kept["world"]
    course.write_text(former)
    assert stamps(tree) == kept
