"""Text with letters that look alike made one, so that a word is found in whatever script it is spelt. Table: `lookalikes.csv`."""

import unicodedata
from functools import lru_cache
from pathlib import Path

from clinworld.core.tables import load_csv

_TABLE = Path(__file__).with_name("lookalikes.csv")
_IGNORED = ("Mn", "Me", "Cf")  # accents, enclosing marks and invisible characters


@lru_cache(maxsize=1)
def load_lookalikes() -> dict[int, str]:
    """Code point → the English letter it looks like."""
    return {int(row["letter"], 16): row["looks_like"] for row in load_csv(_TABLE, ("letter", "looks_like"))}


def fold_lookalikes(text: str) -> str:
    """The text without case, accents, width and invisible characters, its look-alikes as English letters.

    >>> fold_lookalikes("R\u0435g\u0430in"), fold_lookalikes("\uff52\uff45gain"), fold_lookalikes("r\u00e9g\u200bain")
    ('regain', 'regain', 'regain')
    """
    if text.isascii():
        return text.casefold()
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c) not in _IGNORED)
    return unicodedata.normalize("NFC", plain.translate(load_lookalikes()).casefold())
