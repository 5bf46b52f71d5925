import pytest
from access_case import INDEX_DAY, make_item, make_record

from clinworld.access.view import cut_view, shown_days
from clinworld.core.errors import UsageError


def test_single_shows_the_index_day_alone() -> None:
    assert shown_days(make_item(), "single") == (84,)


@pytest.mark.parametrize(
    ("window", "cadence", "rounds", "last"),
    [(281, 28, 11, 364), (280, 28, 11, 364), (279, 28, 10, 336), (27, 28, 1, 84), (28, 28, 2, 112), (1000, 7, 60, 84 + 59 * 7)],
)
def test_rounds_are_one_and_one_more_for_each_whole_cadence_at_most_sixty(window: int, cadence: int, rounds: int, last: int) -> None:
    item = make_item(window_days=window, cadence_days=cadence)
    days = shown_days(item, "rounds")
    assert (len(days), days[0], days[-1]) == (rounds, INDEX_DAY, last)
    assert shown_days(item, "rounds")[-1] == last


def test_an_episode_the_item_cannot_carry_is_refused_naming_those_it_can() -> None:
    with pytest.raises(UsageError, match=r"'round'.*rounds, single.*Did you mean 'rounds'"):
        shown_days(make_item(), "round")
    with pytest.raises(UsageError, match="allowed: single"):
        shown_days(make_item(episodes=("single",)), "rounds")


def test_day_zero_and_the_index_day_are_delivered_and_the_next_day_is_absent() -> None:
    view = cut_view(make_record(), INDEX_DAY)
    hba1c = view.find("hba1c")
    assert hba1c is not None and hba1c.days.tolist() == [0, 45, 84]
    assert [note.day for note in view.notes] == [12, 84]
    assert [each.day for each in view.prescriptions] == [0]
    assert view.last_day == INDEX_DAY
