"""Fires when two or more tests are ordered and every one of them is imaging or invasive."""

from clinworld.judges.declares import Fields, GateDeclares
from clinworld.judges.reading import proposed_tests
from clinworld.judges.subject import Subject
from clinworld.judges.units import Ruling, rule_each_turn
from clinworld.judges.words.tiers import is_imaging_or_invasive
from clinworld.schema.answer import RoundAnswer
from clinworld.schema.verdict import GateVerdict

NAME = "invasive_before_firstline"
SEVERAL = 2


def judge(subject: Subject) -> GateVerdict:
    """One verdict over the turns; unknown for an answer that carries no list of tests."""
    return rule_each_turn(NAME, subject, _rule)


def _rule(subject: Subject, turn: RoundAnswer) -> Ruling:
    tests = proposed_tests(turn.answer)
    if tests is None:
        return Ruling(None, "the answer carries no list of tests")
    return Ruling(len(tests) >= SEVERAL and all(is_imaging_or_invasive(test) for test in tests), ", ".join(tests))


def _orders(*tests: str) -> Fields:
    return {"tests_to_order": list(tests)}


DECLARES = GateDeclares(
    reads=("tests_to_order",),
    needs="",
    passes=lambda subject, day: _orders("abdominal_ct", "hba1c"),
    fails=lambda subject, day: _orders("abdominal_ct", "liver biopsy"),
)
