"""An ordinary case id refuses no good case: what random hex or every prompt holds of its own accord is no leak."""

from dataclasses import replace

import pytest
from gate_case import find_case, knowledge, pack, replace_text, run, with_gold

from clinworld.core.rng import Rng
from clinworld.gates.item.texts_clean import is_distinctive
from clinworld.run.build_case import build_case
from clinworld.world.job_file import read_job

JOB = """\
job_id: ids
task: early_warning
cases:
  - case_id: PLACE
    raw: {disease: obesity, drug: semaglutide, dose_steps: [0.25, 0.5, 1], sex: F, age_range: 40-44, devices: [smart_scale, wearable],
          start_weight: 96, nadir_weight: 86}
    latent: {outcome: maintain, adherence_low: 0.95, event_density: {symptom_rate: 0.4, life_event_rate: 0.1}}
"""
WORDS = ("yes", "no", "day", "case", "week", "weight", "patient", "obesity", "maintain", "regain", "semaglutide", "smart_scale")
SHORT = ("C1", "7c", "hba1c", "0", "42", "100000", "20240101")
MIXED = ("type_2_diabetes", "EW-01", "case-1")
ORDINARY = (*"123456789", *"ABCD", *SHORT, *WORDS, *MIXED, "a0")


def with_id(case, case_id):
    return with_gold(case, case_id=case_id)


def test_there_are_36_ordinary_ids():
    assert len(set(ORDINARY)) == 36


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    path = tmp_path_factory.mktemp("ids") / "ids.yaml"
    path.write_text(JOB)
    return read_job(path, knowledge(), tasks=("early_warning",))


@pytest.mark.parametrize("case_id", ORDINARY)
def test_no_gate_refuses_a_good_case_for_its_ordinary_id(case_id, job):
    built = build_case(replace(job.cases[0], case_id=case_id), job, pack(), knowledge(), Rng(job.seed))
    assert set(built.kinds()) <= {"gold_rederives"}, built.reasons()  # the noise of an id may hide the truth; its letters refuse nothing


@pytest.mark.slow
@pytest.mark.parametrize("case_id", ["EWX-01", "patient-7", "Dbbcf0492", "site3_0017"])
def test_a_distinctive_id_in_a_prompt_is_a_leak(case_id):
    clean = with_id(find_case("texts_clean"), case_id)
    assert run("texts_clean", clean).findings == ()
    leaked = replace_text(clean, lambda text: f"{text}\nChart {case_id.lower()}\n")
    assert case_id in run("texts_clean", leaked).findings[0].found


@pytest.mark.parametrize("case_id", ["patient", "100000", "type_2_diabetes", "C1", "semaglutide"])
def test_a_word_a_number_or_a_name_of_a_row_is_not_distinctive(case_id):
    assert not is_distinctive(case_id, knowledge())


def test_an_item_id_that_is_the_case_id_is_refused_and_one_that_holds_it_by_chance_is_not():
    case = find_case("ids_tell_nothing")
    assert run("ids_tell_nothing", with_id(case, case.item.item_id[3:5])).findings == ()
    assert "not the case id" in run("ids_tell_nothing", with_id(case, case.item.item_id.upper())).findings[0].allowed
