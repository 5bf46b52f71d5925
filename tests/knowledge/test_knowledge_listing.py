"""What `clinworld inputs` prints of knowledge."""

import re
from functools import lru_cache
from pathlib import Path

import pytest
from extra_rows import add_row, read_with

from clinworld.cli.main import main
from clinworld.core.errors import UsageError
from clinworld.core.text import LANGUAGES, Language
from clinworld.knowledge.listing import KINDS, ListingRow, count_kinds, count_statuses, list_rows
from clinworld.knowledge.listing_words import Speaker
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.knowledge.rows import STATUSES

pytestmark = pytest.mark.rows

KNOWLEDGE = load_knowledge()


def has_han(text: str) -> bool:
    return any("\u3400" <= letter <= "\u9fff" for letter in text)


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_listed_with_names_a_source_that_exists_and_a_status(kind: str) -> None:
    rows = list_rows(kind, KNOWLEDGE)
    assert [row.id for row in rows] == list(KNOWLEDGE.table(kind))
    assert all(row.names.en and row.names.zh and row.source in KNOWLEDGE.sources and row.status in STATUSES for row in rows)
    assert all(set(row.to_row()) == {"id", "names", "values", "source", "status"} for row in rows)


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="'analytes'"):
        list_rows("analyte", KNOWLEDGE)


def test_a_value_is_shown_with_its_unit_and_an_empty_cell_is_left_out() -> None:
    hba1c = next(row for row in list_rows("analytes", KNOWLEDGE) if row.id == "hba1c")
    shown = {value.name: (value.value, value.unit) for value in hba1c.values}
    assert shown["diagnostic_high"] == ("6.5", "%")
    assert shown["per_kg"] == ("0.06", "%/kg")
    assert shown["cv_within_pct"] == ("1.2", "%")
    assert "derived_by" not in shown
    steps = next(row for row in list_rows("streams", KNOWLEDGE) if row.id == "steps")
    assert next(value for value in steps.values if value.name == "sd_within").unit == "ln"


def test_a_drug_shows_each_effect_with_its_own_source_and_status() -> None:
    drug = next(row for row in list_rows("drugs", KNOWLEDGE) if row.id == "tirzepatide")
    effect = next(value for value in drug.values if value.name == "effects.hba1c.5.t2d")
    assert (effect.value, effect.unit) == ("-2.09 (SD 1)", "pp; surpass2_peer, peer_cited")
    assert ("indications.obesity", "15", "mg") in drug.values


def test_a_disease_shows_its_levels_and_look_alikes() -> None:
    row = next(row for row in list_rows("conditions", KNOWLEDGE) if row.id == "masld")
    shown = {value.name: value.value for value in row.values}
    assert {"levels.alt", "look_alikes.hepatitis_b", "symptoms", "presentations", "prevalence.0", "findings.alt", "tests", "traps"} <= set(
        shown
    )
    alike = KNOWLEDGE.conditions["masld"].look_alikes[0]
    told = shown[f"look_alikes.{alike.condition}"]
    assert alike.discriminator.zh in told and f"here {alike.told_apart_by.here}" in told


def test_a_symptom_shows_its_wordings_in_both_languages() -> None:
    row = next(row for row in list_rows("symptoms", KNOWLEDGE) if row.id == "tired")
    words = KNOWLEDGE.symptoms["tired"].wordings
    shown = {value.name: value.value for value in row.values}
    assert (row.names.en, row.names.zh) == (words.en[0], words.zh[0])
    assert all(text in shown["wordings"] for text in (*words.en, *words.zh))


def test_a_rule_shows_when_it_holds() -> None:
    row = next(row for row in list_rows("protocols", KNOWLEDGE) if row.id == "titrate_metformin")
    shown = {value.name: value.value for value in row.values}
    rule = KNOWLEDGE.protocols["titrate_metformin"].rules[0]
    assert f"then {rule.then}" in shown[f"rules.{rule.id}"] and "when " in shown[f"rules.{rule.id}"]


def test_each_kind_is_counted_with_its_sorts_and_its_shares() -> None:
    counts = {count.kind: count for count in count_kinds(KNOWLEDGE)}
    assert list(counts) == [*KINDS, "all"]
    assert all(counts[kind].rows == len(KNOWLEDGE.table(kind)) for kind in KINDS)
    events = KNOWLEDGE.events.values()
    assert dict(counts["events"].sorts) == {kind: sum(row.kind == kind for row in events) for kind in ("benign", "life")}
    assert sum(rows for _, rows in counts["conditions"].sorts) == counts["conditions"].rows
    assert counts["analytes"].share("recalled") == pytest.approx(100)
    assert counts["all"].share("checked") < counts["all"].share("recalled")


def test_shares_by_status_add_up_to_a_hundred_for_each_kind() -> None:
    shares = count_statuses(KNOWLEDGE)
    for kind in (*KINDS, "all"):
        assert sum(share.share_pct for share in shares if share.kind == kind) == pytest.approx(100)
    assert sum(share.rows for share in shares if share.kind == "sources") == len(KNOWLEDGE.sources)


def test_an_added_row_counts_in_the_shares(tmp_path: Path) -> None:
    def authored(kind: str, knowledge: Knowledge) -> int:
        return sum(share.rows for share in count_statuses(knowledge) if (share.kind, share.status) == (kind, "authored"))

    added = read_with(add_row(tmp_path, "contexts"))
    assert authored("contexts", added) == authored("contexts", KNOWLEDGE) + 1
    assert authored("all", added) == authored("all", KNOWLEDGE) + 1


JOINED = (
    "comorbidities",
    "factor_effects",
    "correlations",
    "event_effects",
    "couplings",
    "symptom_shadows",
    "symptom_complaints",
    "condition_states",
)
IN_ENGLISH_ALONE = ("sources", "parameters")  # citations, and what a number of the world is for


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in IN_ENGLISH_ALONE])
def test_every_row_of_a_kind_has_a_chinese_name(kind: str) -> None:
    spoken = [row.names for row in list_rows(kind, KNOWLEDGE)]
    assert all(has_han(name.zh) or name.zh == name.en for name in spoken)
    assert sum(has_han(name.zh) for name in spoken) > 0.9 * len(spoken)
    if kind in JOINED:
        assert not any(has_han(name.en) for name in spoken)


@pytest.mark.parametrize("kind", ["symptoms", "conditions", "protocols"])
def test_texts_of_a_row_are_in_the_language_asked_for(kind: str) -> None:
    shown = {
        language: " ".join(f"{value.value}" for row in list_rows(kind, KNOWLEDGE, language) for value in row.values)
        for language in LANGUAGES
    }
    aliases = "".join(alias for row in KNOWLEDGE.table(kind).values() for alias in getattr(row, "aliases", ()))
    assert has_han(shown["zh"])
    assert {letter for letter in shown["en"] if has_han(letter)} <= set(aliases)


@lru_cache
def rows_in(kind: str, language: Language | None) -> list[ListingRow]:
    return list_rows(kind, KNOWLEDGE, language)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in IN_ENGLISH_ALONE])
def test_a_chinese_list_calls_every_field_by_a_chinese_label(kind: str) -> None:
    chinese, english = (Speaker(KNOWLEDGE, language) for language in ("zh", "en"))
    names = {value.name.partition(".")[0] for row in rows_in(kind, "zh") for value in row.values}
    codes = {"loinc", "icd10cm", "rxcui"}  # called alike in both languages
    assert not [name for name in names - codes if not has_han(chinese.field(name))]
    assert not [name for name in names if has_han(english.field(name))]


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        *(("conditions", word) for word in (r"deciding|first_line|routine|screening", r"\bweeks\b|\bmonths\b", r"recalled|authored")),
        *(("drugs", word) for word in (r"oral|clinician", r"absolute|caution", r"sulfonylurea|statin\b")),
        *(("protocols", word) for word in (r"titration|uptitrate|ed_now", r"at_least|is true", r"\ball\(|\bany\(")),
        *(("streams", word) for word in (r"\bwearable\b|\blinear\b", r"\bdiary\b")),
        *(("tests", word) for word in (r"primary_care|blood", r"\btrue\b|\bfalse\b")),
        *(("events", r"benign|sleep_decline"), ("comorbidities", r"shared_cause|obesity"), ("factor_effects", r"\bup\b|\bdown\b")),
    ],
)
def test_a_chinese_list_says_closed_words_in_chinese_and_a_list_of_both_languages_as_written(kind: str, word: str) -> None:
    def told(language: Language | None) -> str:
        values = [value for row in rows_in(kind, language) for value in row.values if value.name not in ("aliases", "topic")]
        text = "\n".join(f"{value.value} {value.unit}" for value in values)
        return re.sub(r"\[[a-z0-9_]+", "[", text) if language else text  # the id of a source

    assert re.search(word, told(None)), "the control"
    assert not re.search(word, told("zh"))


def test_the_command_lists_in_chinese_but_ids_and_names_of_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inputs", "tests", "--language", "zh"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("    ")]
    assert lines and all(has_han(line.partition("\uff1a")[0]) for line in lines)
    assert not [
        line for line in lines if re.search(r"\b(source|status|recalled|authored|tier|measures|false)\b", line.replace(" authored", "", 1))
    ]


@pytest.mark.parametrize(("language", "action"), [(None, "ed_now"), ("en", "Emergency department"), ("zh", "")])
def test_an_analyte_lists_its_reference_change_value_and_its_alarms(language: Language | None, action: str) -> None:
    rows = {row.id: {value.name: value for value in row.values} for row in list_rows("analytes", KNOWLEDGE, language)}
    assert rows["potassium"]["reference_change_pct"] == ("reference_change_pct", "11.2", "%")
    alarms = rows["potassium"]["alarms.potassium_alarm"].value
    assert "6.5" in alarms and "2.5" in alarms and action in alarms
    assert "alarms.potassium_alarm" not in rows["sodium"]
    assert "alarm_protocols" in rows["potassium"] and "alarm_protocols" not in rows["vitamin_d_25oh"]
