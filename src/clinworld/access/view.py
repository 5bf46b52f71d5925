"""Which days of a record an episode shows, and the cut itself. The only place where a record is cut for an agent."""

from functools import lru_cache

from clinworld.core.errors import UsageError, allowed_values, nearest_match
from clinworld.schema.item import Item
from clinworld.schema.record import Record

MAX_ROUNDS = 60


def shown_days(item: Item, episode: str) -> tuple[int, ...]:
    """The last day shown at each turn of an episode, ascending; the first is the index day.

    `single` has one turn. `rounds` has 1 + window // cadence of them, at most 60, each `cadence_days` further on.
    Raises UsageError for an episode the item cannot carry.
    """
    if episode not in item.episodes:
        raise UsageError(
            f"item {item.item_id}, episode",
            f"{episode!r}",
            allowed_values(item.episodes),
            nearest=nearest_match(episode, item.episodes),
            do="Choose one of those.",
        )
    if episode == "rounds":
        rounds = min(MAX_ROUNDS, 1 + item.window_days // item.cadence_days)
        return tuple(item.index_day + turn * item.cadence_days for turn in range(rounds))
    if episode == "single":
        return (item.index_day,)
    raise UsageError(f"item {item.item_id}, episode", f"{episode!r}", "prompts exist for single and rounds", do="Choose one of those.")


@lru_cache(maxsize=64)  # every agent of a run is shown the same views in turn
def cut_view(record: Record, day: int) -> Record:
    """The part of a record that existed at the end of `day`; that day itself is included."""
    return record.until(day)
