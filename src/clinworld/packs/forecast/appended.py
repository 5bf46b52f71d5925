"""Honest replies to the questions appended to a prompt, read from the delivered text."""

import re
from typing import Any

from clinworld.access.delivered import Delivered, DeliveredQuestion, DeliveredSeries
from clinworld.packs.forecast.answering import say

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")
_CLAIM = re.compile("\u201c(.*)\u201d")


def answer_appended(answer: dict[str, Any], delivered: Delivered) -> dict[str, Any]:
    """The answer with a reply in the field each appended question names."""
    for question in delivered.questions:
        series = delivered.series.get(question.about)
        if question.field.startswith("data_quality.signal_quality."):
            quality = answer["data_quality"].setdefault("signal_quality", {})
            quality[question.about] = "present" if _within(series, question) else "no_data_in_window"
        elif question.field == "data_quality.premise_check":
            answer["data_quality"]["premise_check"] = _check_claim(series, question)
            answer["data_quality"]["note"] = say("note_claim", delivered.language)
        elif question.field == "quant_answer" and (values := _within(series, question)):
            answer["quant_answer"] = (
                _read_trend(values, question) if "`rising`" in question.text else max(values, key=lambda each: each[1])[0]
            )
    return answer


def _within(series: DeliveredSeries | None, question: DeliveredQuestion) -> list[tuple[int, float]]:
    if series is None or question.days is None:
        return []
    first, last = question.days
    return [(day, value) for day, value in zip(series.days, series.values, strict=True) if first <= day <= last]


def _read_trend(values: list[tuple[int, float]], question: DeliveredQuestion) -> str:
    zone = _PERCENT.search(question.text)
    net = values[-1][1] - values[0][1]
    if zone and abs(net) <= float(zone[1]) / 100 * max(abs(value) for _, value in values):
        return "flat"
    return "rising" if net > 0 else "falling"


def _check_claim(series: DeliveredSeries | None, question: DeliveredQuestion) -> str:
    claim = _CLAIM.search(question.text)
    said = {float(each) for each in _NUMBER.findall(claim[1])} if claim else set()
    pairs = zip(series.days, series.values, strict=True) if series else ()
    return "consistent" if any(day in said and value in said for day, value in pairs) else "contradicts_record"
