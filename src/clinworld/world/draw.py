"""Cases nobody wrote: a plausible patient, drug and course for each drawn item of a job.

Each value has its own address under the case id, so that one more field moves no other; labels follow the mix (`draw_mix.py`). What is
drawn agrees by construction (days leave room for the reversal, the loss fits the pace); `check_premise` still decides.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple, cast

from clinworld.core.digest import digest_value
from clinworld.core.rng import Rng, words_to_uniform
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Drug
from clinworld.schema.job import ArtifactClass, Case, Controls, DeclaredArtifact, DistractorLevel, EventDensity, Facts, Job
from clinworld.world.contraindications import Known, is_forbidden
from clinworld.world.draw_mix import load_draw_weights, spread_mix
from clinworld.world.draw_people import Limits, Person, draw_background, draw_person
from clinworld.world.effects import DIABETES, load_drug_table
from clinworld.world.job_case import default_case
from clinworld.world.pace import descent_limit_kg_per_day

_LOW_RESPONSE, _POOR, _NO_DRIVER = "biological_low_response", "poor_medication_adherence", "unknown_or_multifactorial"
_GAP = "adherence_gap"
_ALWAYS = ("smart_scale", "wearable")
_CLINIC = "clinic_scale"
_OBESITY = "obesity"
_TRIES = 8
_PRINTED_KG = 0.1  # weights are printed to this, and rounding may not take the loss over the limit


def draw_cases(job: Job, knowledge: Knowledge, rng: Rng, *, is_followed: bool = False) -> tuple[Case, ...]:
    """The `items` drawn cases of a job, in addition to the written ones. Ids are opaque; labels follow the job's mix exactly.

    `is_followed`: for a question asked again as the record grows. Weight then turns after T only, and more often for a cause that nothing
    but the weight shows, so that there is something to revise.
    """
    n = job.items or 0
    ids = _draw_ids(job, n)
    pins = spread_mix(job, n, rng)
    return tuple(
        draw_case(case_id, {axis: labels[i] for axis, labels in pins.items() if labels}, knowledge, rng, is_followed=is_followed)
        for i, case_id in enumerate(ids)
    )


def draw_case(case_id: str, pins: Mapping[str, str], knowledge: Knowledge, rng: Rng, *, is_followed: bool = False) -> Case:
    """The drawn case of an id. `pins` are its labels by axis of the mix; without a mix there are none, and seed and id alone decide."""
    return _draw_case(_Draws(case_id, knowledge, rng, is_followed), pins, _load_base(knowledge))


@lru_cache(maxsize=8)
def _load_base(knowledge: Knowledge) -> Case:
    return default_case("drawn", knowledge)


def drawn_id(seed: str, place: int, attempt: int = 0) -> str:
    """The id of a drawn case by its place among the drawn ones; a further attempt where an earlier case has the id already."""
    return "D" + digest_value([seed, "drawn", place, attempt], length=8)


def _draw_ids(job: Job, n: int) -> list[str]:
    taken = dict.fromkeys(case.case_id for case in job.cases)
    ids = []
    for i in range(n):
        attempt = 0
        while (case_id := drawn_id(job.seed, i, attempt)) in taken:
            attempt += 1
        taken[case_id] = None
        ids.append(case_id)
    return ids


_FIELDS = (
    *("disease", "outcome", "driver", "index_day", "course_end", "reversal_week", "drug", "dose_steps", "loss", "distractor_level"),
    *("regain_slope", "regained", "adherence_low", "has_fault", "fault_week", "fault_day", "fault_days", "fault", "symptom_rate"),
    "life_event_rate",
)


@lru_cache(maxsize=1)
def _list_addresses() -> tuple[tuple[str, ...], ...]:
    """Where the draws of a case are: one for each field and device."""
    return tuple(("draw", name) for name in (*_FIELDS, *(f"device {device}" for device in load_draw_weights()["device"])))


class _Draws:
    """The draws of one case, each at its own address."""

    def __init__(self, case_id: str, knowledge: Knowledge, rng: Rng, is_followed: bool) -> None:
        self.case_id, self.knowledge, self.rng, self.is_followed = case_id, knowledge, rng, is_followed
        addresses = _list_addresses()
        drawn = words_to_uniform(rng.first_words(case_id, addresses, 1)[:, 0]).tolist()
        self._chances: dict[str, float] = {name: chance for (_, name), chance in zip(addresses, drawn, strict=True)}

    def chance(self, name: str) -> float:
        """The uniform on [0, 1) of one field."""
        return self._chances[name]

    def whole(self, name: str, low: int, high: int) -> int:
        """One whole number, both ends included."""
        return low + int(self.chance(name) * (high - low + 1))

    def happens(self, name: str, p: float) -> bool:
        """True with chance p."""
        return self.chance(name) < p

    def between(self, name: str, row: str) -> float:
        """Uniform between the `_low` and `_high` rows of the parameter table."""
        low, high = self.knowledge.parameter(f"draw_{row}_low"), self.knowledge.parameter(f"draw_{row}_high")
        return low + (high - low) * self.chance(name)

    def first_within(self, name: str, value: Callable[[float], float], low: float, high: float) -> float:
        """The value of the first of some normals that lies within limits, so that none piles up at one; the nearer limit if none does."""
        series = self.rng.at(self.case_id, "draw", name)
        for index in range(_TRIES):
            tried = value(series.gauss(index))
            if low <= tried <= high:
                return tried
        return min(max(value(series.gauss()), low), high)

    def choose(self, kind: str, options: tuple[str, ...] | None = None) -> str:
        """One id by weight, among `options` when given; by the weights of followed patients where the kind has such."""
        weights, total = _load_weights(kind, options, self.is_followed)
        aim = self.chance(kind) * total
        for name, weight in weights:
            aim -= weight
            if aim < 0:
                return name
        return weights[-1][0]


@lru_cache(maxsize=4096)
def _load_weights(kind: str, options: tuple[str, ...] | None, is_followed: bool) -> tuple[tuple[tuple[str, float], ...], float]:
    """(id, weight) of the options of a kind, and the sum of weights."""
    known = load_draw_weights()
    weights = known.get(f"{kind}_followed", known[kind]) if is_followed else known[kind]
    chosen = tuple((name, weight) for name, weight in weights.items() if options is None or name in options)
    return chosen, math.fsum(weight for _, weight in chosen)


def _draw_case(draws: _Draws, pins: Mapping[str, str], base: Case) -> Case:
    knowledge = draws.knowledge
    disease = pins.get("disease") or draws.choose("disease", _list_diseases(knowledge, pins.get("driver", "")))
    outcome = pins.get("outcome") or ("regain" if draws.happens("outcome", knowledge.parameter("premise_p_regain")) else "maintain")
    # Drawn for everyone: the drug goes by it, and may not tell who regains.
    cause = pins.get("driver") or draws.choose("driver", _list_drivers(knowledge, disease))
    driver = cause if outcome == "regain" else _NO_DRIVER
    days = _draw_days(draws, outcome)
    devices = _draw_devices(draws, disease)
    facts = _draw_facts(draws, base.facts, disease, driver, _list_drugs(knowledge, disease, cause), days, devices)
    slope = _draw_slope(draws, facts, days)
    return Case(draws.case_id, facts, _draw_controls(draws, base.controls, outcome, driver, days, devices, slope), frozenset())


@lru_cache(maxsize=256)
def _list_diseases(knowledge: Knowledge, driver: str) -> tuple[str, ...]:
    """The diseases in which a driver can be why weight comes back; all where none is named."""
    diseases = tuple(load_draw_weights()["disease"])
    if not driver or not knowledge.drivers[driver].through_drug:
        return diseases
    return tuple(name for name in diseases if _list_lowering(knowledge, name)) or diseases


@lru_cache(maxsize=256)
def _list_drivers(knowledge: Knowledge, disease: str) -> tuple[str, ...]:
    """The drivers that can be why weight comes back in a disease: none through a drug where no drug for it lowers weight."""
    drivers = load_draw_weights()["driver"]
    return tuple(name for name in drivers if _list_lowering(knowledge, disease) or not knowledge.drivers[name].through_drug)


@lru_cache(maxsize=256)
def _list_lowering(knowledge: Knowledge, disease: str) -> tuple[str, ...]:
    """The drugs for a disease whose lack can bring weight back."""
    number = knowledge.parameter
    start_kg, least = number("levels_typical_bmi") * number("draw_height_f_m") ** 2, number("draw_drug_effect_least")
    rows = [knowledge.drugs[name] for name in _list_indicated(knowledge, disease)]
    return tuple(row.id for row in rows if derive_weight_loss(row, row.ladder, disease, start_kg, knowledge) >= least)


def _list_drugs(knowledge: Knowledge, disease: str, driver: str) -> tuple[str, ...]:
    """The drugs for a disease; only those that lower weight where the driver acts through the drug."""
    lowering = _list_lowering(knowledge, disease) if knowledge.drivers[driver].through_drug else ()
    return lowering or _list_indicated(knowledge, disease)


class _Days(NamedTuple):
    """The days of one case; `reversal_week` is None where weight does not turn."""

    index_day: int
    course_end: int
    reversal_week: int | None

    @property
    def descent(self) -> int:
        """Days the loss has: up to the index day, or to a reversal before it."""
        return self.index_day if self.reversal_week is None else min(self.index_day, 7 * self.reversal_week)


def _draw_days(draws: _Draws, outcome: str) -> _Days:
    number = draws.knowledge.parameter
    index_day, rest = int(draws.choose("index_day")), int(number("draw_course_after_reversal"))
    first = -(-(index_day + int(number("draw_reversal_followed_low" if draws.is_followed else "draw_reversal_after_low"))) // 7)
    least = max(7 * first + rest, index_day + int(number("draw_window_least")))
    course_end = int(draws.choose("course_end", tuple(day for day in load_draw_weights()["course_end"] if int(day) >= least)))
    last = min((index_day + int(number("draw_reversal_after_high"))) // 7, (course_end - rest) // 7)
    return _Days(index_day, course_end, draws.whole("reversal_week", first, last) if outcome == "regain" else None)


def _draw_facts(
    draws: _Draws, base: Facts, disease: str, driver: str, drugs: tuple[str, ...], days: _Days, devices: tuple[str, ...]
) -> Facts:
    knowledge = draws.knowledge
    ages = int(knowledge.parameter("draw_age_low")), int(knowledge.parameter("draw_age_high"))
    person = draw_person(draws.case_id, disease, knowledge, draws.rng, ages=ages)
    sex: Literal["F", "M"] = "F" if person.sex == "F" else "M"
    bmi = _draw_bmi(draws, disease)
    height = _draw_height(draws, sex)
    start = round(bmi * (height * height), 1)
    drug, background = _draw_drug(draws, disease, drugs, person, bmi)
    doses = _draw_doses(draws, drug, disease, days.index_day)
    return replace(
        base,
        disease=disease,
        drug=drug.id,
        dose_steps=doses,
        devices=devices,
        age_range=f"{person.age_low}-{person.age_high}",
        sex=sex,
        bmi=bmi,
        comorbidities=background,
        start_weight=start,
        nadir_weight=round(start - _draw_loss(draws, start, derive_weight_loss(drug, doses, disease, start, knowledge), driver, days), 1),
    )


def _draw_drug(draws: _Draws, disease: str, options: tuple[str, ...], person: Person, bmi: float) -> tuple[Drug, tuple[str, ...]]:
    """One of some drugs, and the background beside it; drawn again among the others while the patient forbids it."""
    knowledge = draws.knowledge
    while True:
        name = draws.choose("drug", options)
        limits = Limits(known=(disease,), bmi=bmi, drugs=(name,), spares_course=True)
        background = draw_background(draws.case_id, person, limits, knowledge, draws.rng)
        known = Known(draws.case_id, (disease, *background), person.sex, (person.age_low + person.age_high) / 2.0, bmi)
        options = tuple(other for other in options if other != name)
        # When nothing is left the last one stands, as if it had been written.
        if not options or not is_forbidden(name, known, knowledge, draws.rng):
            return knowledge.drugs[name], background


@lru_cache(maxsize=256)
def _list_indicated(knowledge: Knowledge, disease: str) -> tuple[str, ...]:
    return tuple(name for name in load_draw_weights()["drug"] if disease in dict(knowledge.drugs[name].indications))


def _draw_height(draws: _Draws, sex: str) -> float:
    number = draws.knowledge.parameter
    mean, sd = number("draw_height_f_m" if sex == "F" else "draw_height_m_m"), number("draw_height_sd_m")
    cut = sd * number("draw_height_cut_sd")
    return draws.first_within("height", lambda normal: mean + sd * normal, mean - cut, mean + cut)


def _draw_bmi(draws: _Draws, disease: str) -> float:
    """kg/m2 to one decimal: skewed as in people, and within what a patient with the disease has."""
    number = draws.knowledge.parameter
    median, sd = number(f"draw_bmi_median_{disease}"), number("draw_bmi_log_sd")
    low = number("draw_bmi_obesity_low" if disease == _OBESITY else "draw_bmi_low")
    return round(draws.first_within("bmi", lambda normal: median * math.exp(sd * normal), low, number("draw_bmi_high")), 1)


def _draw_devices(draws: _Draws, disease: str) -> tuple[str, ...]:
    """A home scale and a wearable for everyone; others by chance, likelier when they report what is followed in the disease."""
    chances = _load_device_chances(draws.knowledge, disease)
    return (*_ALWAYS, *(device for device, p in chances if draws.happens(f"device {device}", p)))


@lru_cache(maxsize=256)
def _load_device_chances(knowledge: Knowledge, disease: str) -> tuple[tuple[str, float], ...]:
    """(device, how likely someone with a disease has it)."""
    followed = set(knowledge.conditions[disease].signals)
    followed |= {knowledge.analytes[name].group for name in followed if name in knowledge.analytes}
    reporting = {name for name, row in knowledge.devices.items() if name != _CLINIC and not followed.isdisjoint(row.reports)}
    of_disease = knowledge.parameter("draw_p_device_of_disease")
    return tuple((device, max(p, of_disease) if device in reporting else p) for device, p in load_draw_weights()["device"].items())


def _draw_doses(draws: _Draws, drug: Drug, disease: str, index_day: int) -> tuple[float, ...]:
    """The first steps of the ladder: at most what is indicated, and what the days up to the index day leave room for."""
    rungs = [dose for dose in drug.ladder if dose <= dict(drug.indications)[disease]] or [drug.ladder[0]]
    room = 1 + (index_day // drug.min_titration_days if drug.min_titration_days else len(rungs))
    most = min(len(rungs), room, int(draws.knowledge.parameter("draw_steps_most")))
    return tuple(rungs[: draws.whole("dose_steps", 1, most)])


def derive_weight_loss(drug: Drug, doses: Sequence[float], disease: str, start_kg: float, knowledge: Knowledge) -> float:
    """Share of the start weight that the drug takes off on average at the last dose; 0 for a drug that does not lower weight."""
    table = load_drug_table(knowledge, drug.id, (), disease == DIABETES)
    at = int(table.doses.searchsorted(doses[-1]))
    return max(0.0, -float(table.weight_kg[at] / start_kg + table.weight_percent[at] / 100))


def _draw_loss(draws: _Draws, start: float, of_drug: float, driver: str, days: _Days) -> float:
    """kg lost up to the low point: by habits and a part of the drug's mean effect, within the pace.

    A low responder has a smaller part of it, but the ranges overlap: little weight lost alone says neither.
    """
    number = draws.knowledge.parameter
    row = "loss_of_drug_low_response" if driver == _LOW_RESPONSE else "loss_of_drug"
    most = (descent_limit_kg_per_day(draws.knowledge) * days.descent - _PRINTED_KG) / start
    low, high = (number(f"draw_loss_habits_{end}") + of_drug * number(f"draw_{row}_{end}") for end in ("low", "high"))
    return start * (min(low, most) + (min(high, most) - min(low, most)) * draws.chance("loss"))


def _draw_slope(draws: _Draws, facts: Facts, days: _Days) -> float:
    """kg regained a week: as drawn, and less where the course is so long that much more than the loss would come back."""
    slope = draws.between("regain_slope", "slope")
    if days.reversal_week is not None:
        lost = facts.start_weight - facts.nadir_weight
        back = max(lost * draws.between("regained", "regained"), facts.start_weight * draws.between("regained", "regained_small"))
        slope = min(slope, back / (days.course_end / 7 - days.reversal_week))
    return round(slope, 2)


def _draw_controls(
    draws: _Draws, base: Controls, outcome: str, driver: str, days: _Days, devices: tuple[str, ...], slope: float
) -> Controls:
    level = draws.choose("distractor_level")
    faults = _draw_noise(draws, days.index_day, devices)
    misses_doses = driver == _POOR or any(fault.kind == _GAP for fault in faults)
    return replace(
        base,
        outcome="regain" if outcome == "regain" else "maintain",
        driver=driver,
        reversal_week=days.reversal_week,
        regain_slope=slope,
        index_time_T=days.index_day,
        course_end_day=days.course_end,
        adherence_low=round(draws.between("adherence_low", "adherence_poor" if misses_doses else "adherence_steady"), 2),
        noise=faults,
        distractor_level=cast("DistractorLevel", level),
        event_density=_draw_density(draws, base.event_density, level, days.index_day),
    )


def _draw_noise(draws: _Draws, index_day: int, devices: tuple[str, ...]) -> tuple[DeclaredArtifact, ...]:
    number = draws.knowledge.parameter
    if not draws.happens("has_fault", number("draw_p_fault")):
        return ()
    rows = draws.knowledge.artifacts
    kinds = tuple(kind for kind in load_draw_weights()["fault"] if not rows[kind].needs or set(rows[kind].needs) & set(devices))
    first = int(number("draw_fault_first_week"))
    week = draws.whole("fault_week", first, max(first, index_day // 7 - 2))
    span = draws.whole("fault_days", int(number("draw_fault_days_low")), int(number("draw_fault_days_high")))
    day = draws.whole("fault_day", 0, 6)
    return (DeclaredArtifact(cast("ArtifactClass", draws.choose("fault", kinds)), week, span, day),)


def _draw_density(draws: _Draws, base: EventDensity, level: str, index_day: int) -> EventDensity:
    """Rates of complaints and life events; a high distractor level comes with the rate it needs."""
    rate = draws.between("symptom_rate", "symptom_rate")
    if level != "none":
        row = "events_distractors_low" if level == "low" else "events_distractors_high_least"
        rate = max(rate, draws.knowledge.parameter(row) * 7 / index_day)
    rates = {"symptom_rate": math.ceil(100 * rate) / 100, "life_event_rate": round(draws.between("life_event_rate", "life_event_rate"), 2)}
    return replace(base, **rates)
