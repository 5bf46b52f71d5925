"""Which ordered tests are imaging or invasive, by whole words of the name or id. The words stand in tiers.csv."""

import re
from functools import lru_cache
from pathlib import Path

from clinworld.core.tables import load_csv

_FORMS = {"word": r"(?<![a-z]){}(?![a-z])", "stem": r"(?<![a-z]){}", "part": "{}"}


def is_imaging_or_invasive(test: str) -> bool:
    """Whether a test is of the imaging or invasive tier; letters inside another word never count.

    >>> is_imaging_or_invasive("abdominal_ct"), is_imaging_or_invasive("lactate"), is_imaging_or_invasive("electrolytes")
    (True, False, False)
    """
    return bool(_pattern().search(test.casefold()))


@lru_cache
def _pattern() -> re.Pattern[str]:
    rows = load_csv(Path(__file__).with_name("tiers.csv"), ("form", "language", "text"))
    return re.compile("|".join(_FORMS[row["form"]].format(re.escape(row["text"])) for row in rows))
