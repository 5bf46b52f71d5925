"""A hidden value planted in a delivered text is found in every printed form; what the record prints anyway raises no alarm."""

from decimal import Decimal

import pytest
from gate_case import cases, drawn, find_case, is_kind, replace_text, retell, run, under_check, with_gold, with_premise
from hypothesis import given
from hypothesis import strategies as st

from clinworld.access.record_text import CLOSE, OPEN
from clinworld.core.text import LANGUAGES
from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.hidden_values import hidden_numbers
from clinworld.gates.printed_numbers import canonical, read_numbers, say_in_words

pytestmark = pytest.mark.rows

TEXT_GATES = ("numbers_are_explained", "prompts_show_the_view", "texts_clean", "notes_give_nothing_away")


def is_event(case: CaseUnderCheck) -> bool:
    return case.gold.gold.event_occurs


def planted_case() -> CaseUnderCheck:
    """A case whose hidden values are unusual ones, so that the test names what it plants."""
    case = find_case("numbers_are_explained", is_event)
    case = with_premise(case, adherence_low=0.6437, drug_response=1.04738, regain_kg_per_week=0.387, regain_end_kg=103.26, reversal_day=163)
    ticks = list(case.gold.truth_weight_ticks)
    ticks[-1] = 9137
    return with_gold(case, truth_weight_ticks=tuple(ticks))


FORMS = (
    "0.6437",
    ".6437",
    "0,6437",
    "64.37 %",
    "64.37%",
    "64.4 percent",
    "0.644",
    "０.６４３７",
    "６４.３７％",
    "百分之64.37",
    "1.04738",
    "1.0474",
    "104.7 %",
    "0.387 kg",
    "38.7%",
    "103.26 kg",
    "103,260 g",
    "103.3",
    "day 163",
    "d163",
    "91.37",
    "91.37公斤",
)
PLACES = {
    "before the record": lambda text, said: text.replace(OPEN, f"{said}\n{OPEN}", 1),
    "after the record": lambda text, said: text.replace(CLOSE, f"{CLOSE}\n{said}", 1),
    "in the patient header": lambda text, said: text.replace("Devices: ", f"Devices ({said}): ", 1),
    "in a heading": lambda text, said: text.replace("Daily steps", f"Daily steps {said} ", 1),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", FORMS)
def test_a_hidden_value_planted_in_a_prompt_is_found_in_every_printed_form(place, form):
    clean = planted_case()
    case = replace_text(clean, lambda text: PLACES[place](text, form))
    assert case.prompts[-1].text != clean.prompts[-1].text
    assert any(run(gate, case).findings for gate in TEXT_GATES)


@pytest.mark.parametrize("form", ["zero point six four", "sixty-four percent", "百分之六十四", "零点六四"])
def test_a_hidden_fraction_said_in_words_is_found(form):
    case = with_premise(find_case("numbers_are_explained", is_event), adherence_low=0.64)
    assert run("numbers_are_explained", replace_text(case, lambda text: text + form)).findings


@pytest.mark.parametrize("form", ["0.6437", "64.37 %", "64.4%", ".644", "1.0474", "0.387", "103.26", "91.37"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_hidden_value_told_in_a_note_is_found_in_either_language(form, language):
    texts = {"en": "Busy at work", "zh": "工作很忙"} | {language: {"en": f"My app says {form}", "zh": f"手机上显示{form}"}[language]}
    case = retell(planted_case(), "benign", texts["en"], texts["zh"])
    found = run("notes_give_nothing_away", case).findings
    assert found and "which is" in found[0].found


@pytest.mark.parametrize("text", ["Slept 7.5 hours", "Walked 10 km", "Two cups of tea", "In bed by 11", "The bus took 40 minutes"])
def test_an_ordinary_number_in_a_note_raises_no_alarm(text):
    case = retell(planted_case(), "benign", text, "没什么特别的")
    assert run("notes_give_nothing_away", case).findings == ()


def test_the_finding_says_which_hidden_value_was_found():
    case = replace_text(planted_case(), lambda text: text + "\n64.37 %\n")
    assert "which is adherence_low" in str(run("numbers_are_explained", case).findings[0])


def test_a_value_of_another_day_put_into_a_series_is_found():
    case = find_case("prompts_show_the_view")
    weight = case.item.record.find("weight")
    first, last = f"{weight.ticks[0] / 10:.1f}", f"{case.gold.chart.find('weight').ticks[-1] / 10 + 0.1:.1f}"
    changed = replace_text(case, lambda text: text.replace(f"d0: {first}", f"d0: {last}", 1))
    assert run("prompts_show_the_view", changed).findings


def test_a_record_that_cannot_be_read_back_is_found():
    case = replace_text(find_case("prompts_show_the_view"), lambda text: text.replace("## Notes", "## Nots", 1))
    assert run("prompts_show_the_view", case).findings


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_two_hundred_clean_items_raise_no_alarm(language):
    items = [case for case in drawn(200, language) if case.item is not None]
    assert len(items) == 200
    alarms = [(case.case_id, gate, found) for case in items for gate in TEXT_GATES if (found := run(gate, under_check(case)).findings)]
    assert alarms == []


@pytest.mark.parametrize("job_name", ["early_warning-20", "tracking_review-20"])
def test_the_packaged_items_raise_no_alarm(job_name):
    alarms = [(case.gold.case_id, found) for case in cases(job_name)[::3] for gate in TEXT_GATES if (found := run(gate, case).findings)]
    assert alarms == []


def test_a_hidden_number_that_is_printed_anyway_is_not_unusual_in_the_record():
    case = find_case("prompts_show_the_view", is_event)
    weight = case.item.record.find("weight").values()[0]
    assert run("prompts_show_the_view", with_premise(case, regain_end_kg=float(weight))).findings == ()


@given(value=st.decimals(min_value="0.001", max_value="400", places=3))
def test_a_printed_number_is_read_as_it_is_whatever_its_form(value: Decimal):
    exact = canonical(value)
    for form in (str(value), str(value).replace(".", ","), f"{value}", f"{value} kg"):
        assert exact in read_numbers(form)[0].readings
    assert exact in read_numbers(f"{value * 100} %")[0].readings


@given(value=st.integers(min_value=1000, max_value=9_999_999))
def test_thousands_separators_do_not_hide_a_number(value: int):
    for form in (f"{value:,}", f"{value:,}".replace(",", "'"), str(value)):
        assert str(value) in read_numbers(form)[0].readings


WORDINGS = [("0.66", "sixty-six percent"), ("0.66", "百分之六十六"), ("0.05", "five percent"), ("1.5", "one point five"), ("12", None)]


@pytest.mark.parametrize(("form", "said"), WORDINGS)
def test_fractions_have_wordings_and_whole_numbers_have_none(form, said):
    assert said in say_in_words(form) if said else say_in_words(form) == ()


def test_a_true_weight_after_the_last_day_shown_is_hidden_and_one_before_is_not():
    case = find_case("numbers_are_explained")
    last = case.item.record.last_day
    ticks = [8000] * len(case.gold.truth_weight_ticks)
    ticks[last - 1], ticks[last + 1] = 8123, 8456
    hidden = hidden_numbers(with_gold(case, truth_weight_ticks=tuple(ticks)))
    assert hidden.name(read_numbers("84.56")[0]).name == f"true weight on day {last + 1}"
    assert hidden.name(read_numbers("81.23")[0]) is None


def test_a_note_as_the_author_wrote_it_may_be_in_any_language():
    case = find_case("notes_give_nothing_away", lambda case: any(is_kind(case, note, "real") for note in case.gold.chart.notes))
    assert any(note.is_as_written for note in case.gold.chart.notes)
