"""Contradictions between days and weights, and faults that the premise cannot show."""

from collections.abc import Iterator

from clinworld.knowledge.load import Knowledge
from clinworld.schema.job import Controls
from clinworld.schema.premise import Conflict, PlannedArtifact, Premise
from clinworld.world.pace import descent_limit_kg_per_day

_PACE = "weekly_delta_exceeds_physio"
_ROUNDING = 1e-9
_WEIGHT = "weight"


def check_course(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    """Weights inside the world's range, a descent and a rebound that fit their days, an outcome that can happen."""
    yield from _check_weights(premise, knowledge)
    yield from _check_sampling(premise, knowledge)
    reversal_day = premise.reversal_day if premise.outcome == "regain" else None
    if reversal_day is not None and not 0 <= reversal_day < premise.course_end_day:
        found = f"week {reversal_day // 7}, day {reversal_day}"
        limit = f"the course ends on day {premise.course_end_day} and the reversal comes before it"
        yield Conflict("reversal_outside_course", "latent.reversal_week", found, limit, "Choose an earlier week or a later course_end_day.")
        return
    if reversal_day is not None:
        yield from _check_regain(premise, reversal_day, knowledge)
    yield from _check_descent(premise, knowledge)


def _check_weights(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    low, high = knowledge.parameter("premise_weight_low_kg"), knowledge.parameter("premise_weight_high_kg")
    weights = [("raw.start_weight", premise.start_weight_kg), ("raw.nadir_weight", premise.nadir_weight_kg)]
    if premise.reversal_day is not None and premise.reversal_day < premise.course_end_day:
        gain = premise.regain_kg_per_week * (premise.course_end_day - premise.reversal_day) / 7
        weights.append(("weight at the course's end", premise.nadir_weight_kg + gain))
    for place, weight in weights:
        if not low <= weight <= high:
            yield Conflict("range_out_of_domain", place, f"{weight:.4g} kg", f"{low:g} to {high:g} kg", "Choose a weight in this range.")
    if premise.nadir_weight_kg > premise.start_weight_kg:
        found = f"nadir_weight {premise.nadir_weight_kg:g} kg"
        limit = f"start_weight is {premise.start_weight_kg:g} kg and the lowest weight is at most that"
        yield Conflict("nadir_above_start", "raw.nadir_weight", found, limit, "Lower nadir_weight or raise start_weight.")


def _check_sampling(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    least = int(knowledge.parameter("premise_readings_least"))
    readings = premise.index_day // premise.sampling_days + 1 if premise.sampling_days >= 1 else 0
    if readings < least:
        found = f"a reading every {premise.sampling_days} days, {readings} up to day {premise.index_day}"
        yield Conflict("bad_sampling_days", "raw.sampling_days", found, f"at least {least} readings", "Measure more often or ask later.")


def check_insufficient(premise: Premise, controls: Controls) -> Iterator[Conflict]:
    """A record that is to say too little and yet holds a told symptom up to the index day."""
    first = min((symptom.day for symptom in premise.symptoms), default=None)
    if dict(controls.other).get("ddx_insufficient") and first is not None and first <= premise.index_day:
        yield Conflict(
            "insufficient_after_symptom",
            "latent.ddx_insufficient",
            f"a symptom on day {first}",
            f"the index day is {premise.index_day} and an insufficient record holds no symptom up to it",
            "Move the symptom after the index day.",
        )


def _check_regain(premise: Premise, reversal_day: int, knowledge: Knowledge) -> Iterator[Conflict]:
    rule = knowledge.outcomes[premise.target_event]
    days = premise.course_end_day - reversal_day
    if days < rule.persist_days:
        found = f"{days} days from the reversal on day {reversal_day} to the course's end on day {premise.course_end_day}"
        limit = f"a regain needs {rule.persist_days}"
        yield Conflict("regain_not_sustainable", "latent.reversal_week", found, limit, "Choose an earlier week or a later course_end_day.")
    most = descent_limit_kg_per_day(knowledge) * 7
    slope = premise.regain_kg_per_week
    place = "latent.regain_slope" if premise.regain_end_kg is None else "latent.regain_end_kg"
    if slope > most + _ROUNDING:
        yield Conflict(_PACE, place, f"a regain of {slope:.3g} kg a week", f"at most {most:.3g} kg a week", "Lower it.")
    lost = premise.start_weight_kg - premise.nadir_weight_kg
    needed = max(rule.min_change_frac * lost, rule.min_change_kg)
    gain = slope * days / 7
    if gain < needed - _ROUNDING:
        found = f"a gain of {gain:.3g} kg up to the course's end"
        limit = f"regain needs {needed:.3g} kg over the low point of {premise.nadir_weight_kg:g} kg"
        yield Conflict("outcome_not_reachable", place, found, limit, "Raise it, or write outcome: maintain.")
        return
    first = min(reversal_day, max(premise.index_day + 1, premise.nadir_day))  # a late rise may begin a little before its week
    left, rise = premise.course_end_day - first, needed * 7 / most
    if days >= rule.persist_days and left < rule.persist_days + rise - _ROUNDING:
        pace = f"the rise of {needed:.3g} kg takes {rise:.1f} of them at {most:.3g} kg a week"
        found = f"{left} days from day {first} to the course's end; {pace}"
        limit = f"a regain then lasts {rule.persist_days}"
        yield Conflict("outcome_not_reachable", "latent.reversal_week", found, limit, "Choose an earlier week or a later course_end_day.")


def _check_descent(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    limit = descent_limit_kg_per_day(knowledge)
    lost = premise.start_weight_kg - premise.nadir_weight_kg
    turn, what = premise.course_end_day, "the course ends"
    if premise.reversal_day is not None:
        turn, what = premise.reversal_day, "weight turns"
    days = min(premise.nadir_day, turn)
    drug = knowledge.drugs.get(premise.drug)
    if lost > days * limit + _ROUNDING:
        found = f"{lost:g} kg lost by day {days}"
        rule = f"at most {limit * 7:.3g} kg a week, {days * limit:.4g} kg by then"
        yield Conflict(_PACE, "raw.nadir_weight", found, rule, "Raise nadir_weight or leave more time.")
    elif premise.nadir_day > turn:
        found = f"the descent ends on day {premise.nadir_day}"
        yield Conflict("nadir_after_turn", "latent.nadir_day", found, f"{what} on day {turn}", "Choose an earlier nadir_day.")
    elif drug is not None and lost > 0 and premise.nadir_day < drug.onset_days:
        found = f"weight lost by day {premise.nadir_day}"
        rule = f"{drug.names.en} acts from day {drug.onset_days} on"
        yield Conflict("effect_before_drug_start", "latent.nadir_day", found, rule, "Choose a later nadir_day.")


def check_noise(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    """Faults that lie outside the course, or that this patient's measurements cannot show."""
    for artifact in premise.artifacts:
        where = "latent.noise"
        if artifact.first_day < 0 or artifact.last_day > premise.course_end_day:
            found = f"{artifact.kind} on days {artifact.first_day} to {artifact.last_day}"
            limit = f"the course runs from day 0 to {premise.course_end_day}"
            yield Conflict("artifact_outside_course", where, found, limit, "Choose an earlier week or a shorter span_days.")
        elif artifact.first_day == 0 and knowledge.artifacts[artifact.kind].series == _WEIGHT:
            limit = "the weight of the first visit, day 0, is what the course is measured from"
            yield Conflict("noise_on_first_day", where, f"{artifact.kind} from week 0 on", limit, "Choose week 1 or later.")
        needs = knowledge.artifacts[artifact.kind].needs
        if needs and not set(needs) & set(premise.patient.devices):
            found = f"{artifact.kind} with {', '.join(premise.patient.devices)}"
            yield Conflict("noise_not_allowed_by_premise", where, found, f"it needs {' or '.join(needs)}", "Add a device.")
        yield from _check_shown(premise, artifact, knowledge)


def _check_shown(premise: Premise, artifact: PlannedArtifact, knowledge: Knowledge) -> Iterator[Conflict]:
    if artifact.kind == "adherence_gap":
        below = knowledge.parameter("premise_gap_adherence_below")
        if premise.adherence_low >= below:
            found = f"adherence_gap with adherence_low {premise.adherence_low:g}"
            yield Conflict("noise_not_allowed_by_premise", "latent.noise", found, f"it needs less than {below:g}", "Lower adherence_low.")
    if artifact.kind == "context_confound":
        step = int(knowledge.parameter("premise_confound_step_most_days"))
        least = int(knowledge.parameter("premise_confound_readings_least"))
        if premise.sampling_days > step:
            found = f"context_confound with a reading every {premise.sampling_days} days"
            yield Conflict("noise_not_allowed_by_premise", "latent.noise", found, f"it needs one every {step} days", "Measure more often.")
            return
        last = min(artifact.last_day, premise.course_end_day)
        readings = last // premise.sampling_days - (artifact.first_day - 1) // premise.sampling_days
        if readings < least:
            found = f"{readings} readings in days {artifact.first_day} to {last}"
            yield Conflict("window_trap_not_visible", "latent.noise", found, f"at least {least}", "Lengthen span_days.")
