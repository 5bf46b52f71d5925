"""Fires on each cited id that had not been delivered to the agent when it answered."""

from clinworld.judges.declares import Fields, GateDeclares
from clinworld.judges.reading import cited_ids
from clinworld.judges.subject import Subject
from clinworld.judges.units import Ruling, rule_each_turn
from clinworld.schema.answer import RoundAnswer
from clinworld.schema.verdict import GateVerdict

NAME = "hallucinated_clinical_fact"


def judge(subject: Subject) -> GateVerdict:
    """One verdict over the turns; `detail` names the ids, and which of them fit two rows."""
    return rule_each_turn(NAME, subject, _rule)


def _rule(subject: Subject, turn: RoundAnswer) -> Ruling:
    standings = {cited: subject.delivered.standing(cited, turn.day) for cited in cited_ids(turn.answer)}
    wrong = {cited: standing for cited, standing in standings.items() if standing != "delivered"}
    told = [f"{cited} (fits two rows)" if standing == "ambiguous" else cited for cited, standing in wrong.items()]
    return Ruling(bool(wrong), ", ".join(told))


def _cites(cited: str) -> Fields:
    return {"cited_evidence": [cited]}


DECLARES = GateDeclares(
    reads=("cited_evidence", "drivers.evidence_for", "delivered"),
    needs="",
    passes=lambda subject, day: _cites(subject.item.record.until(day).series[0].name),
    fails=lambda subject, day: _cites("never-delivered-7f3a"),
)
