"""One new disease, drug, analyte, stream, test and event, each a file or row of a folder outside: listed and built with no code changed."""

import re
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from break_rows import condition, drug, row
from extra_rows import PROTOCOL, ZH, add_row, read_package

from clinworld.cli.main import main
from clinworld.core.rng import Rng
from clinworld.knowledge.listing import count_kinds, list_rows
from clinworld.knowledge.load import HERE, Knowledge, load_knowledge
from clinworld.schema.item import item_from_row
from clinworld.schema.record import FindingResult
from clinworld.world.condition_findings import Examined, find_test
from clinworld.world.course import build_course
from clinworld.world.job_file import read_job
from clinworld.world.premise import derive_premise

pytestmark = pytest.mark.rows

NAMES = {"en": "Cold elbow disease", "zh": ZH["say_one"]}
DOCS = Path(__file__).parents[2] / "docs" / "knowledge.md"
JOB = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[0]
HARM = "  - {symptom: elbow_hum, share_low: 1, share_high: 1, onset_days: [1, 20], source: authored, status: authored}"
HUM = ("Both elbows have started to hum", "I hear a hum from my elbows", "My elbows hum at night", "There is humming in my elbows")
DRUG_LINES = {
    "id:": "id: elbowmab",
    "names:": f"names: {{en: Elbowmab, zh: {ZH['name']}}}",
    "aliases:": "aliases: []",
    "rxcui:": "",
    "class:": "class: elbow antibody\nclass_is_new: true",
    "indications:": "indications: {cold_elbow: 10}",
    "off_label:": "",
    "ladder:": "ladder: [5, 10]",
}
CONDITION_LINES = {
    "id:": "id: cold_elbow",
    "icd10cm:": "icd10cm: Q99.8",
    "names:": f"names: {{en: {NAMES['en']}, zh: {NAMES['zh']}}}",
    "aliases:": "aliases: []",
    "signals:": "signals: [weight, weight_clinic, elbow_factor, elbow_chill]",
}
MISTAKES = [
    (row("events", shadows="sleep_declin"), "'sleep_decline'"),
    (row("analytes", source=""), "source"),
    (row("analytes", loinc="10000-9"), "10000-9"),
    (row("analytes", hard_low="20", hard_high="0.1"), "hard_high"),
    (drug("ladder: [5, 10, 20]", "ladder: [5, 10, 10]"), "ladder"),
    (condition("findings:\n", "all_normal: true\nfindings:\n"), "exactly one of: findings, all_normal"),
    (row("findings", positive_zh=""), "positive_zh"),
    (row("events", text_zh=""), "text_zh"),
]
LEVEL = "  - {item: elbow_factor, mean: 8, sd: 1, low: 4, high: 12, source: authored, status: authored}"


def copy_file(folder: Path, kind: str, name: str, lines: dict[str, str]) -> None:
    """A file of the package with some of its top lines replaced, under the name it now has."""
    text = (HERE / kind / f"{name}.yaml").read_text(encoding="utf-8")
    changed = [lines.get(line.partition(" ")[0], line) for line in text.splitlines()]
    effects = [line for line in changed if not line.startswith("  - {item:") or "dose:" not in line]
    (folder / kind).mkdir()
    new = next(line.removeprefix("id: ") for line in changed if line.startswith("id: "))
    (folder / kind / f"{new}.yaml").write_text("\n".join(effects) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("knowledge")
    names = {"name_en": "Elbow factor", "name_zh": ZH["say_two"]}
    add_row(folder, "analytes", id="elbow_factor", **names, cv_within_pct="5", cv_analytic_pct="2", cv_between_pct="20")
    add_row(folder, "streams", id="elbow_chill", name_en="Elbow chill", name_zh=ZH["say_three"])
    add_row(folder, "tests", id="elbow_test", name_en="Elbow test", name_zh=ZH["say_four"], measures="elbow_factor", alternatives="")
    add_row(folder, "events", id="saw_a_film", weight="100", shadows="")
    alarm = PROTOCOL.replace("sample", "elbow_alarm").replace("potassium", "elbow_factor")
    (folder / "protocols").mkdir()
    (folder / "protocols" / "elbow_alarm.yaml").write_text(alarm, encoding="utf-8")
    hum_zh = "|".join(ZH[f"hum_{number}"] for number in ("one", "two", "three", "four"))
    add_row(folder, "symptoms", id="elbow_hum", wordings_en="|".join(HUM), wordings_zh=hum_zh)
    copy_file(folder, "drugs", "metformin", DRUG_LINES)
    drug_file = folder / "drugs" / "elbowmab.yaml"
    text = drug_file.read_text(encoding="utf-8")
    drug_file.write_text(text.replace("\nadverse_effects:", f"\nadverse_effects:\n{HARM}"), encoding="utf-8")
    copy_file(folder, "conditions", "obesity", CONDITION_LINES)
    path = folder / "conditions" / "cold_elbow.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("\nprevalence:", f"\n{LEVEL}\nprevalence:"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def knowledge(outside: Path) -> Knowledge:
    return load_knowledge(outside)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("conditions", "cold_elbow"), ("drugs", "elbowmab"), ("analytes", "elbow_factor")),
        *(("streams", "elbow_chill"), ("tests", "elbow_test"), ("events", "saw_a_film"), ("protocols", "elbow_alarm")),
        ("symptoms", "elbow_hum"),
    ],
)
def test_what_was_added_is_listed_and_counted(kind: str, name: str, outside: Path, knowledge: Knowledge) -> None:
    assert name in [row.id for row in list_rows(kind, knowledge)]
    counted = {count.kind: count.rows for count in count_kinds(knowledge)}
    assert counted[kind] == len(read_package().table(kind)) + 1


@pytest.mark.parametrize(("kind", "name"), [("tests", "elbow_test"), ("protocols", "elbow_alarm")])
def test_the_command_lists_what_was_added(kind: str, name: str, outside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inputs", kind, "--json", "--knowledge", str(outside)]) == 0
    assert name in [row["id"] for row in orjson.loads(capsys.readouterr().out)["rows"]]


@pytest.mark.parametrize(("language", "shown", "hidden"), [("en", "Elbow test", ZH["say_four"]), ("zh", ZH["say_four"], "Elbow test")])
def test_a_list_in_one_language_shows_no_name_in_the_other(
    language: str, shown: str, hidden: str, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inputs", "tests", "--language", language, "--knowledge", str(outside)]) == 0
    out = capsys.readouterr().out
    assert shown in out and hidden not in out


@pytest.mark.slow
def test_what_was_added_has_pages_that_lead_to_each_other(outside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "pages"
    assert main(["inputs", "--pages", str(folder), "--knowledge", str(outside)]) == 0
    capsys.readouterr()
    links = [("drugs/elbowmab", "conditions/cold_elbow"), ("conditions/cold_elbow", "analytes/elbow_factor")]
    for path, link in (*links, ("protocols/elbow_alarm", "analytes/elbow_factor"), ("tests/elbow_test", "analytes/elbow_factor")):
        assert f"](../{link}.md)" in (folder / f"{path}.md").read_text(encoding="utf-8")
    assert "](../streams/elbow_chill.md)" in (folder / "conditions" / "cold_elbow.md").read_text(encoding="utf-8")
    assert str(outside / "events.csv") in (folder / "events" / "saw_a_film.md").read_text(encoding="utf-8")
    assert "](../tests/elbow_test.md)" in (folder / "analytes" / "elbow_factor.md").read_text(encoding="utf-8")


def test_what_was_added_is_built(outside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "outside.yaml"
    job.write_text(JOB, encoding="utf-8")
    assert main(["build", str(job), "--knowledge", str(outside), "--out", str(tmp_path / "out")]) == 0
    assert "Built 1 of 1 cases" in capsys.readouterr().out
    items = next((tmp_path / "out").rglob("items.jsonl"))
    [item] = [orjson.loads(line) for line in items.read_bytes().splitlines()]
    record = item_from_row(item).record
    assert {"elbow_factor", "elbow_chill"} <= {series.name for series in record.series}
    assert {step.drug for step in record.prescriptions} == {"elbowmab"}
    assert "cold_elbow" in record.profile.known_conditions
    assert {"conditions:cold_elbow", "drugs:elbowmab", "analytes:elbow_factor", "streams:elbow_chill"} <= set(item["rows_used"])
    assert "events:saw_a_film" in item["rows_used"]
    assert any(note.text.en == "Saw a film" for note in record.notes)
    assert any(note.text.en in HUM for note in record.notes), "the symptom that is an adverse effect of the drug"


@pytest.mark.slow
def test_an_added_test_can_be_ordered_and_shows_the_level_of_the_added_analyte(outside: Path, knowledge: Knowledge, tmp_path: Path) -> None:
    path = tmp_path / "outside.yaml"
    path.write_text(JOB, encoding="utf-8")
    job = read_job(path, knowledge)
    rng = Rng(job.seed)
    premise = derive_premise(job.cases[0], job, knowledge, rng)
    [result] = find_test("elbow_test", 30, Examined(premise, build_course(premise, knowledge, rng), knowledge, rng))
    assert isinstance(result, FindingResult)
    assert result.name == "elbow_factor" and result.ticks is not None
    assert 40 <= result.ticks <= 120, "the level that the added condition's file gives, at one decimal, with its noise"


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "told"), MISTAKES, ids=[told for _, told in MISTAKES])
def test_each_mistake_a_knowledge_file_may_hold_fails_the_loading_and_names_file_and_row(
    broken: Callable[[Path], Path], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = broken(tmp_path)
    assert main(["inputs", "--knowledge", str(folder)]) == 2
    message = capsys.readouterr().err
    assert told in message and str(folder) in message and "sample" in message.replace(str(folder), "", 1)
    assert "Traceback" not in message
