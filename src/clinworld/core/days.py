"""Days are whole numbers from the first visit (day 0); nothing here knows a calendar date."""

import re

DAYS_A_YEAR = 365

_AGE = re.compile(r"^(\d{1,3})-(\d{1,3})$")


def week_start(week: int) -> int:
    """First day of a week; week 0 starts on day 0."""
    return 7 * week


def parse_age_range(text: str) -> tuple[int, int] | None:
    """(low, high) years of a range such as `45-49`, or None when the text is not one."""
    match = _AGE.match(text)
    if not match:
        return None
    low, high = int(match[1]), int(match[2])
    return (low, high) if low <= high else None
