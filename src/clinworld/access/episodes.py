"""Turn by turn: which prompt comes next in an episode, given the replies so far. Pure; sends nothing and stores nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clinworld.access.prompt import EarlierAnswer, RoundPlace, render_prompt
from clinworld.access.replies import extract_json
from clinworld.access.view import shown_days
from clinworld.core.errors import UsageError, allowed_values, nearest_match
from clinworld.knowledge.load import Knowledge
from clinworld.models.backend import Reply
from clinworld.schema.item import Item
from clinworld.schema.pack import Pack

PROBE_SETS = ("none", "all")
CATEGORIES = ("low", "elevated", "high", "indeterminate")
ACTION_CLASSES = ("A0", "A1", "A2", "A3", "A4", "A5")
UNSAID = "-"


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing to ask: its place in the episode (from 0), the last day its record shows, and the text."""

    turn: int
    day: int
    prompt: str


def next_turn(item: Item, pack: Pack, knowledge: Knowledge, episode: str, probe_set: str, replies: Sequence[Reply | str]) -> Turn | None:
    """The turn after `replies`, or None when the episode is over. One reply answers one turn, usable or not.

    Appended questions (`probe_set` "all") come with the last turn; they name their own days. Raises UsageError for an episode or a
    probe set there is not.
    """
    if probe_set not in PROBE_SETS:
        nearest = nearest_match(probe_set, PROBE_SETS)
        raise UsageError("probe set", f"{probe_set!r}", allowed_values(PROBE_SETS), nearest=nearest)
    days = shown_days(item, episode)
    turn = len(replies)
    if turn >= len(days):
        return None
    place = None if episode == "single" else RoundPlace(turn + 1, len(days), _last_usable(days, replies, knowledge))
    with_probes = probe_set == "all" and turn == len(days) - 1
    return Turn(turn, days[turn], render_prompt(item, pack, knowledge, day=days[turn], with_probes=with_probes, earlier=place))


def _last_usable(days: Sequence[int], replies: Sequence[Reply | str], knowledge: Knowledge) -> EarlierAnswer | None:
    for turn in range(len(replies) - 1, -1, -1):
        reply = replies[turn]
        found = extract_json(reply if isinstance(reply, str) else reply.text)
        if found:
            return read_earlier(found, days[turn], knowledge)
    return None


def read_earlier(found: dict[str, Any], day: int, knowledge: Knowledge) -> EarlierAnswer:
    """The reminder of one answer. What is not a number in range or a word of a closed set is left out, so no free text returns."""
    forecast, action, drivers = _object(found.get("forecast")), _object(found.get("action")), found.get("drivers")
    risk, category = forecast.get("risk"), str(forecast.get("risk_category")).strip().lower()
    ranked = [_object(entry) for entry in drivers] if isinstance(drivers, list) else []
    first = min(ranked, key=lambda entry: rank if isinstance(rank := entry.get("rank"), int) else len(ranked) + 1, default={})
    chosen = str(action.get("selected_action_class")).strip().upper()[:2]
    is_risk = isinstance(risk, (int, float)) and not isinstance(risk, bool) and 0 <= risk <= 1
    return EarlierAnswer(
        day=day,
        risk=f"{risk:.2f}" if is_risk else UNSAID,
        category=category if category in CATEGORIES else UNSAID,
        driver=driver if (driver := str(first.get("driver")).strip()) in knowledge.drivers else UNSAID,
        action=chosen if chosen in ACTION_CLASSES else UNSAID,
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
