"""The right reply to each appended question follows from the record at T, and no two questions are about one series.

Read again here from the values, by other code than that which drew the questions.
"""

import numpy as np
from numpy.typing import NDArray

from clinworld.core.units import print_tick
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.gates.probes.question_side import CONSISTENT, CONTRADICTS, NO_DATA, say_claim
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.gold import ProbeGold
from clinworld.schema.item import ProbeQuestion
from clinworld.schema.record import Series

CONTROLS = ("questions_the_record_answers", "a_reply_the_record_contradicts")
GATE = "probes_follow_the_record"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the appended questions."""
    asked, expected = case.item.probes, case.gold.probes
    findings: list[Finding] = []
    if [(q.kind, q.about) for q in asked] != [(g.kind, g.about) for g in expected]:
        return Outcome(1, (Finding(GATE, "probes", "questions and replies do not pair", "one reply a question, in order"),))
    for question, gold in zip(asked, expected, strict=True):
        place, row = f"{question.kind} about {question.about}", case.row(question.about)
        series = case.find_shown(question.about)
        if series is None or question.days is None or question.days[1] > case.item.index_day:
            findings.append(Finding(GATE, place, f"days {question.days}", "about days and a series the record shows"))
            continue
        if row is None or not row.clinician_reads:
            findings.append(Finding(GATE, place, "a series no clinician is asked about", "clinician_reads"))
        findings += check_reply(place, question, gold, series, case.knowledge)
    abouts = [question.about for question in asked]
    findings += [
        Finding(GATE, "probes", f"two about {name}", "each about its own series")
        for name in sorted({a for a in abouts if abouts.count(a) > 1})
    ]
    return Outcome(len(asked), tuple(findings), "the record allows no appended question")


def check_reply(place: str, question: ProbeQuestion, gold: ProbeGold, series: Series, knowledge: Knowledge) -> list[Finding]:
    """Whether the expected reply is what the values say."""
    assert question.days is not None, "questions without days were named before"
    first, last = question.days
    inside = (series.days >= first) & (series.days <= last)
    days, ticks = series.days[inside], series.ticks[inside]
    if question.kind == "no_op":
        right = (gold.expected == (NO_DATA,)) == (len(days) == 0)
        said = f"{len(days)} readings from day {first} to {last}"
    elif question.kind == "false_premise":
        value = print_tick(int(ticks[0]), series.decimals) if len(ticks) else "nothing"
        stands = question.claim == say_claim(series, value, first, knowledge)
        right = gold.expected == ((CONSISTENT,) if stands else (CONTRADICTS,)) and len(ticks) == 1
        said = f"the record says {value} on day {first}"
    elif question.variant == "peak_day":
        peaks = tuple(str(int(day)) for day in days[ticks == ticks.max()]) if len(ticks) else ()
        right, said = gold.expected == peaks, f"highest on day {', '.join(peaks)}"
    else:
        trend = read_plain_trend(ticks, knowledge.parameter("probe.dead_zone"))
        right, said = gold.expected == (trend,), f"the readings are {trend}"
    return [] if right else [Finding(GATE, place, f"expected {' or '.join(gold.expected)}", said)]


def read_plain_trend(ticks: NDArray[np.int64], zone: float) -> str:
    """rising, falling or flat, from the first value to the last."""
    if not len(ticks):
        return "absent"
    net = int(ticks[-1]) - int(ticks[0])
    return "flat" if abs(net) <= zone * max(1, int(np.abs(ticks).max())) else ("rising" if net > 0 else "falling")
