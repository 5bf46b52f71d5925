"""Who is drawn: age and sex as prevalence has them, and background conditions that are possible, active and never the answer."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from presenting_case import CONDITIONS, KNOWLEDGE, RNG

from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.schema.job import Job
from clinworld.world.draw import draw_cases
from clinworld.world.draw_people import (
    Limits,
    Person,
    _moves_course,
    _raise_share,
    contradicts,
    draw_background,
    draw_person,
    find_share,
    list_background,
    list_people,
)
from clinworld.world.job_file import read_job
from clinworld.world.mixing import mix_words
from clinworld.world.presenting import fits, list_presentations

pytestmark = pytest.mark.rows

WOMAN, MAN = Person("F", 60, 64), Person("M", 60, 64)
PEOPLE = 300


def backgrounds(person: Person, limits: Limits, people: int = PEOPLE) -> list[tuple[str, ...]]:
    return [draw_background(f"B{n}", person, limits, KNOWLEDGE, RNG) for n in range(people)]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_person_with_a_condition_is_one_it_occurs_in_and_comes_to_light_in(condition: str) -> None:
    row = KNOWLEDGE.conditions[condition]
    for number in range(10):
        person = draw_person(f"P{number}", condition, KNOWLEDGE, RNG, presents=True)
        assert fits(row.sex, row.age_low, row.age_high, *person) and find_share(row, person) > 0.0
        assert list_presentations(row, *person, KNOWLEDGE)


@pytest.mark.parametrize("condition", ["type_2_diabetes", "hypothyroidism", "graves"])
def test_sex_and_age_come_in_the_shares_of_people_times_prevalence(condition: str) -> None:
    people, ends = list_people(KNOWLEDGE, condition, (0, 120), False)
    expected = dict(zip(people, np.diff(ends, prepend=0.0) / ends[-1], strict=True))
    drawn = Counter(draw_person(f"S{n}", condition, KNOWLEDGE, RNG) for n in range(2000))
    for key in ({"F"}, {"M"}):
        share = sum(p for person, p in expected.items() if person.sex in key)
        assert sum(n for person, n in drawn.items() if person.sex in key) / 2000 == pytest.approx(share, abs=0.04)
    old = sum(p for person, p in expected.items() if person.age_low >= 60)
    assert sum(n for person, n in drawn.items() if person.age_low >= 60) / 2000 == pytest.approx(old, abs=0.04)


def test_limits_that_leave_nobody_are_refused() -> None:
    with pytest.raises(PremiseConflict) as refused:
        draw_person("X", "premature_ovarian_insufficiency", KNOWLEDGE, RNG, ages=(60, 80))
    assert refused.value.kind == "nobody_has_it"


@pytest.mark.parametrize("answer", ["hypothyroidism", "ckd", "iron_deficiency_anaemia", "pe", "type_2_diabetes", "ibs", "pcos"])
def test_the_background_is_never_the_answer_nor_what_it_is_mistaken_for(answer: str) -> None:
    person = draw_person("A", answer, KNOWLEDGE, RNG)
    alike = {each.condition for each in KNOWLEDGE.conditions[answer].look_alikes}
    alike |= {name for name in list_background(KNOWLEDGE) if answer in {each.condition for each in KNOWLEDGE.conditions[name].look_alikes}}
    drawn = {name for names in backgrounds(person, Limits(answer=answer, bmi=33.0)) for name in names}
    assert drawn and not drawn & {answer, *alike}
    age = (person.age_low + person.age_high) / 2
    assert not any(contradicts(name, answer, person.sex, age, KNOWLEDGE) for name in drawn)


def test_a_contradiction_is_seen_and_agreement_is_none() -> None:
    assert contradicts("ckd", "nephrotic", "F", 60.0, KNOWLEDGE)  # creatinine up where the answer holds it normal
    assert contradicts("iron_deficiency_anaemia", "thalassaemia_trait", "F", 40.0, KNOWLEDGE)  # ferritin down, held normal
    assert not contradicts("gerd", "pe", "F", 40.0, KNOWLEDGE)


@pytest.mark.parametrize("person", [WOMAN, MAN, Person("F", 25, 29)])
def test_the_background_fits_the_person_and_its_number_the_parameter(person: Person) -> None:
    drawn = backgrounds(person, Limits(bmi=33.0))
    most = int(KNOWLEDGE.parameter("background.most"))
    assert max(map(len, drawn)) == most and min(map(len, drawn)) == 0
    for names in drawn:
        assert len(set(names)) == len(names)
        for name in names:
            row = KNOWLEDGE.conditions[name]
            assert fits(row.sex, row.age_low, row.age_high, *person) and row.urgency in ("routine", "soon")
            assert f"background.never.{name}" not in KNOWLEDGE.parameters


APART = [
    *[("graves", "subclinical_hypothyroidism"), ("hyperthyroidism", "subclinical_hypothyroidism"), ("toxic_nodule", "hypothyroidism")],
    *[("hyperthyroidism", "toxic_nodule"), ("hyperthyroidism", "graves"), ("hypopituitarism", "subclinical_hypothyroidism")],
    *[("haemochromatosis", "iron_deficiency_anaemia"), ("secondary_polycythaemia", "anaemia_inflammation"), ("lada", "prediabetes")],
]


@pytest.mark.parametrize(("one", "other"), APART)
def test_conditions_that_exclude_each_other_are_not_documented_together(one: str, other: str) -> None:
    for known, drawn in ((one, other), (other, one)):
        for person in (WOMAN, MAN):
            assert not any(drawn in had for had in backgrounds(person, Limits(known=(known,), bmi=33.0), 3 * PEOPLE))


def test_conditions_that_only_share_an_organ_or_a_mild_opposite_are_documented_together() -> None:
    pairs = [("type_2_diabetes", "subclinical_hypothyroidism"), ("masld", "iron_deficiency_anaemia"), ("osa", "ckd")]
    for known, drawn in pairs:
        assert any(drawn in had for had in backgrounds(WOMAN, Limits(known=(known,), bmi=33.0), 3 * PEOPLE))


def test_a_complication_comes_only_with_its_cause() -> None:
    with_it = backgrounds(WOMAN, Limits(known=("type_2_diabetes",), bmi=33.0))
    without = backgrounds(WOMAN, Limits(answer="type_2_diabetes", bmi=33.0))
    assert any("diabetic_kidney_disease" in names for names in with_it)
    assert not any("diabetic_kidney_disease" in names for names in without)


def test_a_known_condition_raises_what_goes_with_it() -> None:
    plain, raised = (sum("osa" in names for names in backgrounds(MAN, Limits(known=known))) for known in ((), ("type_2_diabetes",)))
    assert raised > 1.5 * plain
    assert _raise_share("osa", 0.1, ["type_2_diabetes"], MAN, KNOWLEDGE) == pytest.approx(0.56)
    assert _raise_share("osa", 0.1, ["gerd"], MAN, KNOWLEDGE) == 0.0
    turned = _raise_share("pcos", 0.1, ["obesity"], Person("F", 30, 34), KNOWLEDGE)
    assert turned == pytest.approx(0.5 * 0.1 / find_share(KNOWLEDGE.conditions["obesity"], Person("F", 30, 34)))


def test_obesity_needs_the_body_mass_index_of_it() -> None:
    assert not any("obesity" in names for names in backgrounds(WOMAN, Limits(bmi=27.0)))
    assert any("obesity" in names for names in backgrounds(WOMAN, Limits(bmi=33.0)))


def test_a_condition_that_forbids_the_drug_is_not_drawn() -> None:
    drug = KNOWLEDGE.drugs["metformin"]
    assert any(row.item == "egfr" for row in drug.contraindications)
    assert any("ckd" in names for names in backgrounds(WOMAN, Limits()))
    assert not any("ckd" in names for names in backgrounds(WOMAN, Limits(drugs=("metformin",))))


def test_a_course_of_its_own_is_spared() -> None:
    drawn = {name for names in backgrounds(WOMAN, Limits(bmi=33.0, spares_course=True), 600) for name in names}
    assert drawn and not any(_moves_course(name, (), "F", 62.0, KNOWLEDGE) for name in drawn)
    assert _moves_course("depression", (), "F", 62.0, KNOWLEDGE)  # fewer steps, less sleep: evidence of a driver
    assert _moves_course("obesity", (), "F", 62.0, KNOWLEDGE) and _moves_course("lada", (), "F", 62.0, KNOWLEDGE)
    assert not _moves_course("gerd", (), "F", 62.0, KNOWLEDGE)


def test_a_condition_more_moves_no_draw_of_the_others() -> None:
    word, marks = np.array([1234567], dtype=np.uint64), np.array([3, 5, 9], dtype=np.uint64)
    assert mix_words(word, marks)[[0, 2]].tolist() == mix_words(word, marks[[0, 2]]).tolist()
    assert len(set(mix_words(word, marks).tolist())) == 3


def test_background_is_as_common_as_its_rows_say() -> None:
    share = sum("hypertension" in names for names in backgrounds(MAN, Limits(), 1500)) / 1500
    expected = KNOWLEDGE.parameter("background.documented_share.hypertension") * find_share(KNOWLEDGE.conditions["hypertension"], MAN)
    assert 0.6 * expected < share < 1.3 * expected


def test_apnoea_of_sleep_is_commoner_the_heavier_people_are_and_what_has_no_row_is_not() -> None:
    light, heavy = (backgrounds(MAN, Limits(bmi=bmi), 1500) for bmi in (27.0, 42.0))
    shares = {name: [sum(name in names for names in each) / 1500 for each in (light, heavy)] for name in ("osa", "high_lpa")}
    assert shares["osa"][1] > 2.5 * shares["osa"][0] > 0
    assert abs(shares["high_lpa"][1] - shares["high_lpa"][0]) < 0.05


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    path: Path = tmp_path_factory.mktemp("job") / "drawn.job.yaml"
    path.write_text("job_id: drawn\ntask: early_warning\nseed: 5\nitems: 300\n")
    return read_job(path, KNOWLEDGE)


def test_drawn_cases_have_people_of_their_disease_and_possible_comorbidities(job: Job) -> None:
    cases = draw_cases(job, KNOWLEDGE, Rng(job.seed))
    assert {case.facts.disease for case in cases} == {name for name in CONDITIONS if KNOWLEDGE.conditions[name].is_primary}
    for case in cases:
        low, high = map(int, case.facts.age_range.split("-"))
        assert 25 <= low <= high <= 74 and high - low == 4
        for name in (case.facts.disease, *case.facts.comorbidities):
            row = KNOWLEDGE.conditions[name]
            assert fits(row.sex, row.age_low, row.age_high, case.facts.sex, low, high), (case.case_id, name)
        assert case.facts.disease not in case.facts.comorbidities
        absolute = {row.condition for row in KNOWLEDGE.drugs[case.facts.drug].contraindications if row.condition}
        assert not absolute & set(case.facts.comorbidities)
    share = sum(bool(case.facts.comorbidities) for case in cases) / len(cases)
    assert 0.5 < share < 0.95
    diabetes = [case.facts.sex for case in cases if case.facts.disease == "type_2_diabetes"]
    assert 0.3 < diabetes.count("F") / len(diabetes) < 0.6


def test_a_drawn_case_does_not_depend_on_how_many_are_drawn(job: Job) -> None:
    many, few = (draw_cases(replace(job, items=n), KNOWLEDGE, Rng(job.seed)) for n in (40, 10))
    assert many[:10] == few
