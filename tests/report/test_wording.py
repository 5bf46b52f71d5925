"""Whatever the program can say against a case or a batch is said in Chinese on a Chinese page."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import pytest

import clinworld
from clinworld.core.tables import load_csv
from clinworld.knowledge.load import load_knowledge
from clinworld.report import wording
from clinworld.report.page import _tell
from clinworld.report.wording import say_part, say_reason
from clinworld.schema.finding import Finding

ROOT = Path(clinworld.__file__).parent
HERE = Path(wording.__file__).parent
# Calls that hold messages: positions of their texts, beside the keywords below.
TEXTS = {
    "Conflict": (2, 3, 4),
    "PremiseConflict": (1, 2),
    "Finding": (2, 3),
    "Outcome": (2,),
    "unmeasured": (1,),
    "unscored": (1,),
}
KEYWORDS = {"found", "limit", "do", "reason", "allowed", "told"}
NOT_REPORTED = {"impossible.py", "fingerprint.py", "mount.py"}  # of bench and of `verify PACK`
# Texts whose parts come from elsewhere: their whole forms are in the table below.
OPEN_ENDED = {
    "a planted shortcut is not found with {}; about {} items, half of them events, are needed",
    "below {} {} explains it",
    "{} days from day {} to the course's end; {}",
    "{} on day {}",
    "it names an {}",
    "{}, which {}",
    "clinician_reads",
}
WHOLE = (
    "a planted shortcut is not found with 14 items, 7 of them events (p 0.0970); about 38 items, half of them events, are needed",
    "below 3.1 a condition, a drug or a fault explains it",
    "below 3.1 a condition or a fault explains it",
    "70 days from day 295 to the course's end; the rise of 0.75 kg takes 5.8 of them at 0.9 kg a week",
    "the course ends on day 365",
    "weight turns on day 154",
    "it names an outcome",
    "it names an driver",
    "it names an answer (a driver)",
    "metformin, which what is documented forbids",
    "metformin, which egfr 24 on day 140 forbids",
    "at most 0.9 kg a week, 46.93 kg by then. Raise nadir_weight or leave more time.",
    "world 1a → 2b (items are made otherwise); judges that differ: direction, top_driver",
)


def texts_of(node: ast.expr, names: Mapping[str, list[ast.expr]]) -> list[str]:
    """What an expression can say, `{}` for what is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return ["".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)]
        case ast.IfExp(body=one, orelse=other):
            return [*texts_of(one, names), *texts_of(other, names)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [one + other for one in texts_of(left, names) or ["{}"] for other in texts_of(right, names) or ["{}"]]
        case ast.Subscript(value=value):
            return texts_of(value, names)
        case ast.Name(id=name):
            return [text for each in names.get(name, ()) for text in texts_of(each, {})]
    return []


def assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for each in ast.walk(node):
        for target in each.targets if isinstance(each, ast.Assign) else ():
            pairs = (
                zip(target.elts, each.value.elts, strict=False)
                if isinstance(target, ast.Tuple) and isinstance(each.value, ast.Tuple)
                else ()
            )
            yield from ((one.id, value) for one, value in [(target, each.value), *pairs] if isinstance(one, ast.Name))


@lru_cache
def messages() -> dict[str, str]:
    """Every text of a message → the file that says it."""
    folders = ("world/conflicts*.py", "world/*.py", "gates/**/*.py", "judges/**/*.py", "scores/*.py", "packs/forecast/gold.py")
    found: dict[str, str] = {}
    for path in sorted({path for each in folders for path in ROOT.glob(each) if path.name not in NOT_REPORTED}):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)):
            names: dict[str, list[ast.expr]] = {}
            for name, value in [
                *assigned(ast.Module([each for each in tree.body if isinstance(each, ast.Assign)], [])),
                *assigned(function),
            ]:
                names.setdefault(name, []).append(value)
            for call in (each for each in ast.walk(function) if isinstance(each, ast.Call)):
                wanted = TEXTS.get(getattr(call.func, "id", ""), ())
                said = [argument for place, argument in enumerate(call.args) if place in wanted]
                said += [each.value for each in call.keywords if wanted and each.arg in KEYWORDS]
                found |= {text: path.name for argument in said for text in texts_of(argument, names) if re.search("[a-z]", text)}
    return found


@pytest.mark.slow
def test_every_message_there_is_is_said_in_chinese() -> None:
    assert len(messages()) > 250
    filled = {text: text.replace("{}", "7") for text in messages() if text not in OPEN_ENDED}
    assert [f"{messages()[text]}: {text}" for text, said in filled.items() if not say_part(said, "zh").is_native] == []


@pytest.mark.parametrize("text", WHOLE)
def test_a_message_put_together_from_parts_is_said_in_chinese_as_a_whole(text: str) -> None:
    said = say_reason(text, "zh")
    assert said.is_native and not re.search(r"[A-Za-z]{3,} [A-Za-z]{3,} [A-Za-z]{3,}", said.text), said.text


@pytest.mark.parametrize("text", ["the moon was full on Tuesday", "found under the old bed with two more", "3 days. The moon was full"])
def test_a_message_no_table_holds_stays_english_and_is_marked(text: str) -> None:
    assert say_reason(text, "zh") == wording.Said(text, False)
    assert not say_part(text, "zh").is_native
    assert '<span lang="en">' in _tell("zh", Finding("a_gate", "latent.noise", text, "at most 3"), 300)


@pytest.mark.parametrize("text", ["raw.symptoms[0].text", "2.5, 7.5", "heart_failure", "1.28 m", "'chest pressure'"])
def test_paths_names_numbers_and_quotations_are_in_every_language(text: str) -> None:
    assert say_part(text, "zh") == wording.Said(text, True)


@pytest.mark.parametrize("table", ["reasons.csv", "findings.csv"])
def test_the_two_languages_of_a_message_have_the_same_places(table: str) -> None:
    for row in load_csv(HERE / table, ("en", "zh")):
        assert sorted(re.findall(r"\{(\w+)\}", row["en"])) == sorted(re.findall(r"\{(\w+)\}", row["zh"])), row
        assert row["en"].isascii() or not re.search("[\u4e00-\u9fff]", row["en"]), row


def test_a_finding_reads_as_before_in_english_and_whole_in_chinese() -> None:
    finding = Finding("dose_off_ladder", "raw.dose_steps", "3.3", "the ladder of tirzepatide is 2.5, 5 mg. Choose doses on the ladder.")
    assert _tell("en", finding, 400) == f'<p class="raw">{finding.place}: 3.3; {finding.allowed}</p>'
    said = str(_tell("zh", finding, 400))
    assert "lang=" not in said and "tirzepatide" in said and "Choose" not in said


def test_drivers_named_in_a_reason_are_called_as_in_the_knowledge() -> None:
    for driver in load_knowledge().drivers.values():
        assert driver.names.say("zh") in say_reason(f"always {driver.id}", "zh").text


@pytest.mark.slow
def test_in_english_a_message_stays_as_it_is_and_a_verdict_is_called_by_its_name() -> None:
    filled = [text.replace("{}", "7") for text in messages()]
    assert [text for text in filled if say_reason(text, "en").text != text] == []
    told = say_reason("risk_calibration has no floor (none was given): its skill is unmeasured", "en")
    assert told.text == f"{wording.say('verdict:risk_calibration', 'en')} has no floor (none was given): its skill is unmeasured"
