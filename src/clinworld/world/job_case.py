"""One case of a job file: its patient facts and hidden controls, every name an id, every default in place.

Refuses what is wrong with the file; whether good values contradict each other is for `conflicts.py`. Called by `job_file.py`.
"""

from typing import Any

from clinworld.core.tables import Place
from clinworld.knowledge.load import Knowledge
from clinworld.schema.job import Case, Controls, DeclaredArtifact, DeclaredSymptom, EventDensity, Facts
from clinworld.world.job_keys import load_job_keys
from clinworld.world.job_names import find_comorbidity, find_disease, find_drug, find_name, find_vital
from clinworld.world.job_text import JobText, describe, number_text
from clinworld.world.job_values import in_force, read_section, read_word

FALLING_DRIVER, SLIPPING_DRIVER = "poor_medication_adherence", "medication_intolerance"
_DAYS_A_WEEK = 7


def read_case(text: JobText, place: Place, given: Any, knowledge: Knowledge, labels: dict[str, None]) -> Case:
    """The case at a place. What is kept as a label only, or changes nothing here, is added to the keys of `labels`."""
    case = read_section(text, place, "case", given=given)
    raw = read_section(text, (*place, "raw"), "raw", given=case.get("raw"))
    latent = read_section(text, (*place, "latent"), "latent", given=case.get("latent"))
    facts = _read_facts(text, (*place, "raw"), raw, knowledge, labels)
    controls = _read_controls(text, (*place, "latent"), latent, facts, knowledge, labels)
    written = {f"raw.{key}" for key in raw} | {f"latent.{key}" for key in latent}
    written |= {f"latent.event_density.{key}" for key in latent.get("event_density", {})}
    return Case(case["case_id"], facts, controls, frozenset(written))


def default_case(case_id: str, knowledge: Knowledge) -> Case:
    """The case with nothing written but its id: every key at its default."""
    from_nothing = JobText.of_nothing(case_id)
    return read_case(from_nothing, (), {"case_id": case_id}, knowledge, {})


def _read_facts(text: JobText, place: Place, raw: dict[str, Any], knowledge: Knowledge, labels: dict[str, None]) -> Facts:
    def value(key: str) -> Any:
        return in_force("raw", raw, key)

    disease = find_disease(text, (*place, "disease"), value("disease"), knowledge)
    start = value("start_weight")
    nadir = value("nadir_weight")
    comorbidities = [(name, find_comorbidity(name, knowledge)) for name in value("comorbidities")]
    vitals = [(name, find_vital(name, knowledge)) for name in raw.get("baseline_vitals", {})]
    for key, named in (("comorbidities", comorbidities), ("baseline_vitals", vitals)):
        labels.update({f"raw.{key} {name} (kept as a label)": None for name, found in named if not found.is_known})
    devices = tuple(
        find_name(text, (*place, "devices", n), "devices", name, knowledge, error_kind="unknown_device")
        for n, name in enumerate(value("devices"))
    )
    return Facts(
        disease=disease,
        drug=find_drug(text, (*place, "drug"), value("drug"), disease, knowledge),
        dose_steps=value("dose_steps"),
        devices=devices,
        age_range=value("age_range"),
        sex=value("sex"),
        bmi=value("bmi"),
        comorbidities=tuple(found.id for _, found in comorbidities),
        baseline_vitals=tuple((found.id, _read_vital(text, place, name, raw["baseline_vitals"][name])) for name, found in vitals),
        start_weight=start,
        nadir_weight=nadir if nadir is not None else start - knowledge.parameter("premise_nadir_below_start_kg"),
        sampling_days=value("sampling_days"),
        symptoms=_read_symptoms(text, (*place, "symptoms"), raw.get("symptoms", [])),
        goals=value("goals"),
    )


def _read_vital(text: JobText, place: Place, name: str, value: Any) -> float:
    at, key = (*place, "baseline_vitals", name), load_job_keys()["raw"]["baseline_vitals"]
    read_word(text, at, key, name)
    low, high = key.low or 0, key.high or 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise text.error(at, describe(value), f"a number from {number_text(low)} to {number_text(high)} is expected")
    return float(value)


def _read_symptoms(text: JobText, place: Place, given: list[Any]) -> tuple[DeclaredSymptom, ...]:
    symptoms = []
    for n, entry in enumerate(given):
        symptom = read_section(text, (*place, n), "symptom", given=entry)
        symptoms.append(DeclaredSymptom(symptom["day"], symptom["text"].strip(), (symptom.get("context") or "").strip()))
    return tuple(symptoms)


def _read_controls(
    text: JobText, place: Place, latent: dict[str, Any], facts: Facts, knowledge: Knowledge, labels: dict[str, None]
) -> Controls:
    def value(key: str) -> Any:
        return in_force("latent", latent, key)

    keys = load_job_keys()["latent"]
    labels.update({f"latent.{key}": None for key in latent if keys[key].effect != "yes"})
    index_day, course_end = value("index_time_T"), value("course_end_day")
    if index_day >= course_end:
        at = (*place, "index_time_T" if "index_time_T" in latent else "course_end_day")
        raise text.error(at, f"index_time_T {index_day} and course_end_day {course_end}", "the index day comes before the course ends")
    driver = value("driver")
    if driver is not None:
        driver = find_name(text, (*place, "driver"), "drivers", driver, knowledge, error_kind="empty_gold_drivers")
    faults = _read_noise(text, (*place, "noise"), latent.get("noise", []), course_end, facts, knowledge)
    may_fall = value("outcome") != "maintain" and driver in (None, FALLING_DRIVER, SLIPPING_DRIVER)
    least = knowledge.parameter("premise_adherence_steady_least")
    if value("adherence_low") < least and not may_fall and not any(fault.kind == "adherence_gap" for fault in faults):
        labels[f"latent.adherence_low below {number_text(least)} (acts with a regain by {FALLING_DRIVER} or {SLIPPING_DRIVER} only)"] = None
    return Controls(
        outcome=value("outcome"),
        driver=driver,
        reversal_week=value("reversal_week"),
        regain_slope=value("regain_slope"),
        regain_end_kg=value("regain_end_kg"),
        index_time_T=index_day,
        course_end_day=course_end,
        nadir_day=value("nadir_day"),
        adherence_low=value("adherence_low"),
        missingness=value("missingness"),
        noise=faults,
        distractor_level=value("distractor_level"),
        distractor_cond_axes=value("distractor_cond_axes"),
        event_density=_read_density(text, (*place, "event_density"), latent.get("event_density"), labels),
        drug_response=value("drug_response"),
        target_event=find_name(
            text, (*place, "target_event"), "outcomes", value("target_event"), knowledge, error_kind="unknown_target_event"
        ),
        other=tuple((key, latent[key]) for key in sorted(latent) if keys[key].effect == "other" or key.startswith("ddx_")),
    )


def _read_density(text: JobText, place: Place, given: Any, labels: dict[str, None]) -> EventDensity:
    written = read_section(text, place, "event_density", given=given)
    keys = load_job_keys()["event_density"]
    labels.update({f"latent.event_density.{key}": None for key in written if keys[key].effect != "yes"})
    used = ("measure_per_week", "dosing_per_week", "symptom_rate", "life_event_rate")
    acting = {key: value for key, value in written.items() if keys[key].effect == "yes"}
    return EventDensity(*(in_force("event_density", acting, key) for key in used))


def _read_noise(
    text: JobText, place: Place, given: list[Any], course_end: int, facts: Facts, knowledge: Knowledge
) -> tuple[DeclaredArtifact, ...]:
    faults: list[DeclaredArtifact] = []
    for n, entry in enumerate(given):
        at = (*place, n)
        noise = read_section(text, at, "noise", given=entry)
        kind = find_name(text, (*at, "class"), "artifacts", noise["class"], knowledge, error_kind="unknown_noise_class")
        week, day = noise["week"], in_force("noise", noise, "day")
        first = week * _DAYS_A_WEEK + day
        if first > course_end:
            found = f"week {week}, which starts on day {first}" if not day else f"day {day} of week {week}, which is day {first}"
            raise text.error(
                (*at, "week"), found, f"the course ends on day {course_end}", do="Choose an earlier week or day.", kind="noise_week"
            )
        needs = knowledge.artifacts[kind].needs
        if needs and not set(needs) & set(facts.devices):
            raise text.error(
                (*at, "class"),
                f"{kind}, which only {' or '.join(needs)} can show; the devices are {', '.join(facts.devices)}",
                do="Add such a device or choose another class.",
                kind="noise_without_device",
            )
        fault = DeclaredArtifact(kind, week, in_force("noise", noise, "span_days"), day)  # type: ignore[arg-type]  # an artifact row's id
        if any((other.kind, other.week) == (fault.kind, fault.week) for other in faults):
            raise text.error(at, f"{kind} in week {number_text(week)} twice", "each stands once", do="Remove one of them.")
        faults.append(fault)
    return tuple(faults)
