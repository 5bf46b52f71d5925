"""Ids of a job file. A job's id names a folder, so it is plain on every system; a case's id may be in any script.

Raises JobError. Called by `job_values.py`.
"""

import re
import unicodedata
from typing import Any

from clinworld.core.tables import Place
from clinworld.world.job_text import JobText, describe

_MOST_CHARACTERS = 100
_BESIDE_LETTERS = "_-."
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)  # names Windows keeps for devices


def read_id(text: JobText, place: Place, value: Any, *, names_folder: bool) -> str:
    """The id as written. `names_folder` allows the letters of English only; otherwise those of any script, and single blanks inside."""
    if not isinstance(value, str):
        raise text.error(place, describe(value), "text is expected", do="Put the id in quotes.")
    rule = f"an id has 1 to {_MOST_CHARACTERS} characters"
    if not value.strip() or len(value) > _MOST_CHARACTERS:
        raise text.error(place, f"an id of {len(value)} characters" if value.strip() else "an empty id", rule)
    if value[0] in "-." or value[-1] == "." or value != value.strip():
        found = f"an id that starts with {describe(value[0])} or ends with {describe(value[-1])}"
        raise text.error(place, found, "an id starts with a letter, a digit or `_` and ends with no dot or blank")
    if ".." in value:
        raise text.error(place, f"'..' in the id {describe(value)}", "an id holds no path", do="Use `-` or `_`.")
    for character in value:
        _check_character(text, place, value, character, names_folder=names_folder)
    if _DEVICE.fullmatch(value):
        raise text.error(place, f"the id {describe(value)}", "Windows keeps this name for a device", do=f"Write {'job-' + value!r}, say.")
    return value


def _check_character(text: JobText, place: Place, value: str, character: str, *, names_folder: bool) -> None:
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        raise text.error(place, f"an invisible character U+{ord(character):04X} in the id", "an id holds printable characters")
    if names_folder:
        is_right, rule = (
            character.isascii() and (character.isalnum() or character in _BESIDE_LETTERS),
            "letters a to z, digits, `_`, `-`, `.`",
        )
    else:
        is_right, rule = category[0] in "LMN" or character in (*_BESIDE_LETTERS, " "), "letters, digits, blanks, `_`, `-`, `.`"
    if not is_right:
        raise text.error(place, f"{describe(character)} in the id {describe(value)}", f"an id holds {rule}", do="Use `-` or `_`.")
