"""One item that must pass and one that must fail for every gate on items, by the names the gates declare."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from gate_case import (
    ROUNDS,
    cases,
    change,
    find_case,
    from_day,
    is_kind,
    keep,
    move_notes,
    replace_text,
    retell,
    series_of,
    with_answer,
    with_chart,
    with_gold,
    with_item,
    with_notes,
    with_premise,
    with_series,
    without_series,
)

from clinworld.core.rng import Rng
from clinworld.gates.case import CaseUnderCheck
from clinworld.schema.record import ChartFault, PastPrescription, Series, Specimen
from clinworld.world.course import build_course
from clinworld.world.dispensing import derive_dispensing
from clinworld.world.history import draw_history

Make = Callable[[], CaseUnderCheck]


def is_event(case: CaseUnderCheck) -> bool:
    return case.gold.gold.event_occurs


def has_artifact(kind: str, case: CaseUnderCheck) -> bool:
    return any(fault.kind == kind and fault.days for fault in case.gold.faults)


def reversal_after_the_end() -> CaseUnderCheck:
    case = find_case("premise_holds", is_event)
    return with_premise(case, reversal_day=case.gold.premise.course_end_day + 7)


def patient_of_five() -> CaseUnderCheck:
    case = find_case("patient_is_plausible")
    return with_item(case, record=replace(case.item.record, profile=replace(case.item.record.profile, age_low=5, age_high=9)))


def man_with_a_condition_of_women() -> CaseUnderCheck:
    case = find_case("patient_is_plausible", lambda case: case.item.record.profile.sex == "M")
    profile = replace(case.item.record.profile, known_conditions=("obesity", "pcos"))
    return with_item(case, record=replace(case.item.record, profile=profile))


def dose_off_the_ladder() -> CaseUnderCheck:
    case = find_case("drug_is_indicated")
    *first, last = case.gold.chart.prescriptions
    return with_chart(case, prescriptions=(*first, replace(last, dose=last.dose * 1.07)))


def missed_low_point() -> CaseUnderCheck:
    case = find_case("anchors_hold")
    first, *rest = case.gold.truth_weight_ticks
    return with_gold(case, truth_weight_ticks=(first, *(tick + 80 for tick in rest)))


def truth_that_stays_low() -> CaseUnderCheck:
    case = find_case("outcome_follows_truth", is_event)
    ticks = np.array(case.gold.truth_weight_ticks)
    ticks[ticks.argmin() :] = ticks.min()
    return with_gold(case, truth_weight_ticks=tuple(ticks.tolist()))


def wearable_that_records_nothing() -> CaseUnderCheck:
    case = find_case("devices_record", lambda case: "wearable" in case.item.record.profile.devices)
    return without_series(case, set(case.knowledge.devices["wearable"].reports))


def series_without_its_device() -> CaseUnderCheck:
    case = find_case("devices_record", lambda case: "wearable" in case.item.record.profile.devices)
    profile = case.item.record.profile
    left = tuple(device for device in profile.devices if device != "wearable")
    return with_item(case, record=replace(case.item.record, profile=replace(profile, devices=left)))


def weight_of_a_cow() -> CaseUnderCheck:
    case = find_case("values_possible")
    return with_series(case, change(series_of(case, "weight"), 3, 6500))


def platelets_of_a_patient_who_would_bleed() -> CaseUnderCheck:
    case = find_case("low_results_have_a_cause")
    return with_series(case, change(series_of(case, "platelets"), 1, 22))


def series_past_the_end() -> CaseUnderCheck:
    case = find_case("series_stay_in_the_course")
    steps, end = series_of(case, "steps"), case.gold.premise.course_end_day
    return with_series(case, replace(steps, days=np.append(steps.days, np.int32(end + 3)), ticks=np.append(steps.ticks, steps.ticks[-1])))


def scale_forgotten() -> CaseUnderCheck:
    case = find_case("cadence_is_kept", lambda case: not case.gold.premise.artifacts)
    weight = series_of(case, "weight")
    return with_series(case, keep(weight, (weight.days < 40) | (weight.days > 70)))


def scale_avoided() -> CaseUnderCheck:
    case = find_case("missingness_is_neutral")
    weight, turn = series_of(case, "weight"), case.gold.premise.reversal_day
    return with_series(case, keep(weight, (weight.days < turn) | (np.arange(len(weight.days)) % 3 == 0)))


def first_value_with_diabetes() -> CaseUnderCheck:
    case = find_case(
        "baseline_is_undiagnosed",
        lambda case: case.gold.chart.find("hba1c") is not None and "type_2_diabetes" not in case.item.record.profile.known_conditions,
    )
    return with_series(case, change(series_of(case, "hba1c"), 0, 65))


def fib4_of_its_own() -> CaseUnderCheck:
    case = find_case("derived_values_agree", lambda case: case.gold.chart.find("fib4") is not None)
    return with_series(case, change(series_of(case, "fib4"), 0, lambda ticks: ticks + 7))


def diastolic_above_systolic() -> CaseUnderCheck:
    case = find_case("derived_values_agree", lambda case: case.gold.chart.find("home_dbp") is not None)
    return with_series(case, change(series_of(case, "home_dbp"), 2, 200))


def lab_against_weight() -> CaseUnderCheck:
    case = find_case("labs_follow_weight")
    names = [name for name in ("triglycerides", "alt", "ldl_c", "hba1c", "fasting_glucose") if case.gold.chart.find(name) is not None]
    return with_series(case, *(change(series_of(case, name), slice(1, None), lambda ticks: ticks * 3) for name in names))


def one_event_fewer() -> CaseUnderCheck:
    case = find_case("events_are_counted")
    dropped = next(note for note in case.gold.chart.notes if is_kind(case, note, "benign") and note.day <= case.item.index_day)
    origins = tuple(origin for origin in case.gold.origins if origin.note_id != dropped.note_id)
    return with_gold(with_notes(case, tuple(note for note in case.gold.chart.notes if note is not dropped)), origins=origins)


def chest_pain() -> CaseUnderCheck:
    return retell(find_case("events_are_harmless"), "benign", "Chest pain on the stairs", "爬楼梯时有点累")


def events_piled_up() -> CaseUnderCheck:
    case = find_case("events_are_spread")
    last = case.item.index_day
    notes = [note for note in case.everyday_notes if note.day <= last]
    return move_notes(case, {note.note_id: last - i for i, note in enumerate(notes)})


def symptoms_every_two_weeks() -> CaseUnderCheck:
    case = find_case("symptom_days_irregular")
    last = case.item.index_day
    real = [note for note in case.gold.chart.notes if is_kind(case, note, "real") and note.day <= last]
    everyday = [note for note in case.everyday_notes if note.day <= last]
    days = {note.note_id: 14 * (i + 1) for i, note in enumerate(real)} | {note.note_id: 14 * i + 3 for i, note in enumerate(everyday)}
    return move_notes(case, days)


def other_sex() -> CaseUnderCheck:
    case = find_case("text_fits_the_patient", lambda case: case.item.record.profile.sex == "F")
    return retell(case, "benign", "Up at night because of my prostate", "因为前列腺夜里起来")


def answer_in_the_other_language() -> CaseUnderCheck:
    return retell(find_case("notes_give_nothing_away"), "benign", "Busy at work this week", "医生说我依从性差")


def rate_without_an_event() -> CaseUnderCheck:
    case = find_case("declared_acts")
    return with_gold(case, acted=(*case.gold.acted, ("life_event_rate", 0)))


def artifact_without_a_reading() -> CaseUnderCheck:
    return with_gold(find_case("artifacts_act"), faults=())


def laboratory_fault(*, has_specimen: bool = True, day_apart: int = 0) -> CaseUnderCheck:
    """A case with a haemolysed sample of one result, `day_apart` days from it; without its specimen if asked."""
    case = find_case("artifacts_act", lambda case: case.gold.chart.find("ldl_c") is not None)
    day = int(series_of(case, "ldl_c").days[1])
    drawn = (Specimen(day, 500, True, "hospital", "usual_analyser", ""),) if has_specimen else ()
    fault = ChartFault("in_vitro_haemolysis", "ldl_c", (day + day_apart,), 4.0)
    return with_gold(with_chart(case, specimens=drawn), faults=(*case.gold.faults, fault))


def smoothed_spike() -> CaseUnderCheck:
    case = find_case("traps_stand_out", partial(has_artifact, "transient_spike"))
    day = next(fault.days[0] for fault in case.gold.faults if fault.kind == "transient_spike")
    weight = series_of(case, "weight")
    place = int(np.searchsorted(weight.days, day))
    return with_series(case, change(weight, place, weight.ticks[place - 1]))


def late_evidence() -> CaseUnderCheck:
    case = find_case("gold_is_visible", lambda case: case.gold.premise.driver == "calorie_intake_change" and is_event(case))
    carbs = series_of(case, "carb_pct")
    shown = np.flatnonzero(carbs.days <= case.item.index_day)
    level = int(np.median(carbs.ticks[: len(shown) // 2]))
    return with_series(case, change(change(carbs, shown, level), from_day(carbs, case.item.index_day + 1), level + 30))


def trap_after_the_last_day() -> CaseUnderCheck:
    case = find_case("gold_is_visible", partial(has_artifact, "transient_spike"))
    return with_gold(case, faults=tuple(replace(fault, days=(case.item.record.last_day + 1,)) for fault in case.gold.faults))


def second_driver() -> CaseUnderCheck:
    case = find_case("evidence_is_neutral", lambda case: case.gold.premise.driver != "calorie_intake_change")
    carbs = series_of(case, "carb_pct")
    return with_series(case, change(carbs, from_day(carbs, case.item.index_day // 2), lambda ticks: ticks + 25))


def chart_of_another_answer() -> CaseUnderCheck:
    case = find_case("gold_rederives", is_event)

    def flatten(series: Series) -> Series:
        lowest = int(series.ticks.argmin())
        return change(series, slice(lowest, None), series.ticks.min())

    return with_series(case, flatten(series_of(case, "weight")), flatten(series_of(case, "weight_clinic")))


def id_that_says_real() -> CaseUnderCheck:
    case = find_case("ids_tell_nothing")
    first, *rest = case.gold.chart.notes
    return with_notes(case, (replace(first, note_id="EV-001-S"), *rest))


def changed_view() -> CaseUnderCheck:
    case = find_case("view_is_the_chart")
    changed = tuple(change(s, 4, lambda tick: tick + 1) if s.name == "weight" else s for s in case.item.record.series)
    return with_item(case, record=replace(case.item.record, series=changed))


def wrong_reply() -> CaseUnderCheck:
    case = find_case("probes_follow_the_record")
    return with_gold(case, probes=tuple(replace(probe, expected=("falling",)) for probe in case.gold.probes))


def value_in_the_record() -> CaseUnderCheck:
    case = find_case("prompts_show_the_view")
    weight = case.item.record.find("weight")
    assert weight is not None
    first = f"{weight.ticks[0] / 10:.1f}"
    return replace_text(case, lambda text: text.replace(f"d0: {first} ", f"d0: {weight.ticks[0] / 10 + 0.3:.1f} ", 1))


def planted_value() -> CaseUnderCheck:
    case = find_case("numbers_are_explained", is_event)
    return replace_text(case, lambda text: text.replace("# Question", f"({case.gold.premise.adherence_low})\n# Question", 1))


def one_question_twice() -> CaseUnderCheck:
    case = find_case("probes_follow_the_record")
    return with_gold(with_item(case, probes=case.item.probes[:1] * 2), probes=case.gold.probes[:1] * 2)


def another_start() -> CaseUnderCheck:
    case = find_case("anchors_hold")
    return with_premise(case, start_weight_kg=case.gold.premise.start_weight_kg + 0.6)


def answer_key() -> CaseUnderCheck:
    return replace_text(find_case("texts_clean"), lambda text: text + "\nThe ground truth is kept elsewhere.\n")


def with_the_past() -> CaseUnderCheck:
    """A packaged case with what was charted before day 0 and what the pharmacy handed out."""
    case = cases()[0]
    premise, rng = case.gold.premise, Rng("past")
    course = build_course(premise, case.knowledge, rng)
    packs = tuple(
        replace(pack, day=order.day, dose=order.dose)
        for order, pack in zip(case.gold.chart.prescriptions, derive_dispensing(premise, course, case.knowledge, rng), strict=False)
    )
    return with_chart(case, history=draw_history(premise, case.knowledge, rng, course=course), dispensing=packs)


def forbidden_drug() -> CaseUnderCheck:
    case = with_the_past()
    history = case.gold.chart.history
    assert history is not None
    order = PastPrescription(-90, None, "lithium", 250.0, "mg")
    return with_chart(case, history=replace(history, prescriptions=(*history.prescriptions, order)))


def pack_before_its_order() -> CaseUnderCheck:
    case = with_the_past()
    first, *rest = case.gold.chart.dispensing
    return with_chart(case, dispensing=(replace(first, day=-2), *rest))


FAILS: dict[str, Make] = {
    "a_drug_the_patient_may_not_take": forbidden_drug,
    "a_pack_before_its_order": pack_before_its_order,
    "a_reversal_after_the_course_end": reversal_after_the_end,
    "a_patient_too_young_for_the_disease": patient_of_five,
    "a_dose_off_the_ladder": dose_off_the_ladder,
    "a_course_that_misses_its_low_point": missed_low_point,
    "a_true_weight_that_never_comes_back": truth_that_stays_low,
    "a_wearable_without_a_stream": wearable_that_records_nothing,
    "a_value_beyond_a_bound": weight_of_a_cow,
    "a_critical_result_for_no_reason": platelets_of_a_patient_who_would_bleed,
    "a_series_past_the_course_end": series_past_the_end,
    "a_scale_forgotten_for_a_month": scale_forgotten,
    "a_scale_avoided_after_the_turn": scale_avoided,
    "a_first_value_that_makes_the_diagnosis": first_value_with_diabetes,
    "a_calculated_result_that_does_not_follow": fib4_of_its_own,
    "a_lab_that_rises_while_weight_falls": lab_against_weight,
    "one_event_fewer": one_event_fewer,
    "an_everyday_complaint_of_chest_pain": chest_pain,
    "events_in_the_last_weeks_only": events_piled_up,
    "symptoms_every_two_weeks_alone": symptoms_every_two_weeks,
    "a_complaint_of_the_other_sex": other_sex,
    "a_note_that_says_the_answer_in_the_other_language": answer_in_the_other_language,
    "a_rate_that_yielded_nothing": rate_without_an_event,
    "an_artifact_that_touched_nothing": artifact_without_a_reading,
    "a_spike_that_was_smoothed_away": smoothed_spike,
    "evidence_after_the_index_day_only": late_evidence,
    "a_second_driver_with_moving_evidence": second_driver,
    "a_chart_that_implies_another_answer": chart_of_another_answer,
    "an_id_that_names_its_kind": id_that_says_real,
    "a_view_with_a_changed_value": changed_view,
    "a_reply_the_record_contradicts": wrong_reply,
    "a_value_planted_in_the_record": value_in_the_record,
    "a_prompt_with_a_planted_value": planted_value,
    "a_prompt_that_names_the_answer_key": answer_key,
}

PASSES: dict[str, Make] = {
    "a_history_that_fits_the_patient": with_the_past,
    "packs_of_the_orders_in_force": with_the_past,
    "a_premise_without_contradiction": partial(find_case, "premise_holds"),
    "a_patient_of_the_usual_age": partial(find_case, "patient_is_plausible"),
    "a_drug_for_its_disease": partial(find_case, "drug_is_indicated"),
    "a_course_through_its_anchors": partial(find_case, "anchors_hold"),
    "a_true_weight_that_keeps_its_promise": partial(find_case, "outcome_follows_truth", is_event),
    "devices_that_record": partial(find_case, "devices_record"),
    "results_low_for_a_reason": partial(find_case, "low_results_have_a_cause"),
    "a_series_inside_its_bounds": partial(find_case, "values_possible"),
    "series_that_end_with_the_course": partial(find_case, "series_stay_in_the_course"),
    "a_scale_read_as_declared": partial(find_case, "cadence_is_kept"),
    "a_scale_read_evenly": partial(find_case, "missingness_is_neutral"),
    "a_normal_first_value": partial(find_case, "baseline_is_undiagnosed"),
    "results_that_follow_from_the_printed_ones": partial(find_case, "derived_values_agree"),
    "labs_that_fall_with_weight": partial(find_case, "labs_follow_weight"),
    "the_declared_number_of_events": partial(find_case, "events_are_counted"),
    "everyday_complaints": partial(find_case, "events_are_harmless"),
    "events_over_the_whole_time": partial(find_case, "events_are_spread"),
    "symptoms_on_uneven_days": partial(find_case, "symptom_days_irregular"),
    "a_complaint_anyone_has": partial(find_case, "text_fits_the_patient"),
    "notes_about_everyday_life": partial(find_case, "notes_give_nothing_away"),
    "a_case_in_which_everything_acted": partial(find_case, "declared_acts"),
    "an_artifact_with_its_reading": partial(find_case, "artifacts_act"),
    "a_spike_that_stands_out": partial(find_case, "traps_stand_out", partial(has_artifact, "transient_spike")),
    "evidence_before_the_index_day": partial(find_case, "gold_is_visible", is_event),
    "one_driver_with_moving_evidence": partial(find_case, "evidence_is_neutral", is_event),
    "an_untouched_chart": partial(find_case, "gold_rederives"),
    "opaque_ids": partial(find_case, "ids_tell_nothing"),
    "a_view_of_its_chart": partial(find_case, "view_is_the_chart"),
    "questions_the_record_answers": partial(find_case, "probes_follow_the_record"),
    "a_record_read_back": partial(find_case, "prompts_show_the_view"),
    "a_prompt_as_it_is_delivered": partial(find_case, "numbers_are_explained"),
    "a_clean_prompt": partial(find_case, "texts_clean"),
}

ALSO_FAILS: tuple[tuple[str, Make], ...] = (
    ("devices_record", series_without_its_device),
    ("derived_values_agree", diastolic_above_systolic),
    ("premise_holds", lambda: with_premise(find_case("premise_holds"), dose_steps=(3.3,))),
    ("patient_is_plausible", man_with_a_condition_of_women),
    ("anchors_hold", another_start),
    ("outcome_follows_truth", lambda: with_answer(find_case("outcome_follows_truth", is_event), event_occurs=False)),
    ("drug_is_indicated", lambda: with_premise(find_case("drug_is_indicated"), drug="allopurinol")),
    ("gold_is_visible", trap_after_the_last_day),
    ("texts_clean", lambda: replace_text(find_case("texts_clean", job_name=ROUNDS), lambda text: text + "伪差\n")),
    ("artifacts_act", partial(laboratory_fault, has_specimen=False)),
    ("artifacts_act", partial(laboratory_fault, day_apart=1)),
    ("view_is_the_chart", lambda: with_item(find_case("view_is_the_chart"), index_day=30)),
    ("view_is_the_chart", lambda: with_gold(find_case("view_is_the_chart"), item_id="0" * 12)),
    ("probes_follow_the_record", one_question_twice),
)
