"""Contradictions between good values: every one of a premise, in one pass, with what was found and the limit.

Nothing here is about the file (`job_file.py` refuses that) and nothing depends on a draw that could fall otherwise.
"""

from collections.abc import Iterator

from clinworld.knowledge.load import Knowledge
from clinworld.schema.job import Case, Facts
from clinworld.schema.premise import Conflict, Premise
from clinworld.world.conflicts_course import check_course, check_insufficient, check_noise
from clinworld.world.conflicts_drug import check_drug
from clinworld.world.conflicts_patient import check_density, check_driver, check_patient, check_texts
from clinworld.world.conflicts_red_flag import check_red_flag
from clinworld.world.notes import count_events
from clinworld.world.signals import check_signals, derive_signals

_OUTCOMES = ("regain", "maintain")


def check_premise(premise: Premise, case: Case | None, knowledge: Knowledge) -> tuple[Conflict, ...]:
    """All contradictions of a case, in the order of the job's keys; empty when the premise can be true.

    Without the case (a premise read back from disk) what only the job file says is not looked at.
    """
    written: tuple[Conflict, ...] = ()
    if case is not None:
        written = (*_check_written(premise, case.facts, knowledge), *check_insufficient(premise, case.controls))
        written += tuple(check_red_flag(premise, case.controls))
    return (
        *_check_answer(premise, knowledge),
        *written,
        *check_patient(premise, knowledge),
        *check_signals(derive_signals(premise, knowledge), premise, knowledge),
        *check_drug(premise, knowledge),
        *check_course(premise, knowledge),
        *check_noise(premise, knowledge),
        *check_texts(premise, knowledge),
        *check_driver(premise, knowledge),
        *check_density(premise, knowledge),
    )


def note_premise(premise: Premise) -> tuple[Conflict, ...]:
    """What is worth a line in the audit and refuses nothing: a rate above 0 that yields no event up to the index day."""
    rates = (("symptom_rate", premise.density.symptom_rate), ("life_event_rate", premise.density.life_event_rate))
    return tuple(
        Conflict(
            kind="rate_without_event",
            place=f"latent.event_density.{name}",
            found=f"{rate:g} a week over {premise.index_day} days, which is no event",
            limit="a rate above 0 usually means at least one",
            do="Raise the rate or write 0.",
        )
        for name, rate in rates
        if rate > 0 and count_events(rate, premise.index_day) == 0
    )


def _check_answer(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    if premise.outcome not in _OUTCOMES:
        limit = "allowed: " + ", ".join(_OUTCOMES)
        yield Conflict("bad_outcome_label", "latent.outcome", repr(premise.outcome), limit, "Choose one.")
    if premise.driver not in knowledge.drivers:
        limit = f"one of the {len(knowledge.drivers)} drivers"
        yield Conflict("empty_gold_drivers", "latent.driver", repr(premise.driver), limit, "Name a driver.")


def _check_written(premise: Premise, facts: Facts, knowledge: Knowledge) -> Iterator[Conflict]:
    """A premise may not differ from what the author wrote."""
    if premise.patient.disease != facts.disease:
        yield Conflict("disease_conflicts_original", "raw.disease", premise.patient.disease, f"written {facts.disease}", "")
    tolerance = knowledge.parameter("premise_anchor_tolerance_kg")
    weights = (
        ("start_weight", premise.start_weight_kg, facts.start_weight),
        ("nadir_weight", premise.nadir_weight_kg, facts.nadir_weight),
    )
    for key, true, written in weights:
        if abs(true - written) > tolerance:
            limit = f"written {written:g} kg, tolerance {tolerance:g} kg"
            yield Conflict("anchor_value_conflicts_original", f"raw.{key}", f"{true:g} kg", limit, "")
