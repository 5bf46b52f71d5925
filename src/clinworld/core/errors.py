"""Every error a user can meet, and the five-part message they share.

ClinworldError
├── UsageError        a verb was called with something it cannot take          exit 2
├── JobError          the job file is wrong                                    exit 2
├── KnowledgeError    a knowledge row or file is wrong                         exit 2
├── PackError         a pack folder is wrong                                   exit 2
├── StoreError        a batch file cannot be read or written                   exit 2
├── PremiseConflict   good values contradict each other; refuses one case
├── LeakFound         hidden content would have been delivered; refuses one item or cell
├── AnswerInvalid     a reply holds no usable answer; scores one cell
├── ModelFailure      the backend failed; the cell is undetermined
├── NothingEmitted    no item, or a batch gate refused                         exit 4
├── StampMismatch     digests or stamps disagree                               exit 5
└── Incomplete        cells not run, undetermined or unjudged                  exit 6
"""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_SHOWN = 80
_LONGEST_WORD = 200  # nobody means a name with a longer word


class ClinworldError(Exception):
    """An error whose message says where, what was found, what is allowed, the nearest match and what to do.

    Empty parts are left out. `kind` is a stable snake_case name for programs.
    """

    exit_code = 2
    examples = "See `clinworld inputs` for what goes in."  # where somebody with an empty file finds a filled one

    def __init__(
        self,
        where: str,
        found: str,
        allowed: str = "",
        *,
        nearest: str | None = None,
        do: str = "",
        kind: str = "",
    ) -> None:
        self.where, self.found, self.allowed, self.nearest, self.do, self.kind = where, found, allowed, nearest, do, kind
        text = f"{where}: {found}"
        if allowed:
            text += f"; {allowed}"
        text += "" if text.endswith((".", "?", "!")) else "."
        if nearest:
            text += f" Did you mean {nearest!r}?"
        if do:
            text += f" {do}"
        super().__init__(text)


class UsageError(ClinworldError):
    """A verb was called with something it cannot take."""


class JobError(ClinworldError):
    """The job file is wrong: syntax, name, type or hard range."""

    examples = "See `clinworld inputs jobs` for examples."


class KnowledgeError(ClinworldError):
    """A knowledge row or file is wrong."""

    examples = "See `clinworld inputs KIND` for rows of each kind, or leave the file out."


class PackError(ClinworldError):
    """A pack folder is wrong."""

    examples = "See the package's own packs for what stands in each file."


class StoreError(ClinworldError):
    """A batch file cannot be read or written."""


class PremiseConflict(ClinworldError):
    """Good values contradict each other; the case is refused, the file is not wrong."""


class LeakFound(ClinworldError):
    """Hidden content would have been delivered."""


class AnswerInvalid(ClinworldError):
    """A reply holds no usable answer."""


class ModelFailure(ClinworldError):
    """The backend failed for a reason that is not the agent's."""

    exit_code = 6


class NothingEmitted(ClinworldError):
    """No item was emitted, or a batch gate refused."""

    exit_code = 4


class StampMismatch(ClinworldError):
    """Digests or stamps that must agree do not."""

    exit_code = 5


class Incomplete(ClinworldError):
    """Cells were not run, are undetermined or could not be judged."""

    exit_code = 6


def nearest_match(word: str, options: Iterable[str]) -> str | None:
    """The option a reader most likely meant, or None when nothing is close."""
    if len(str(word)) > _LONGEST_WORD:
        return None
    by_folded = {str(option).casefold(): str(option) for option in options}
    close = get_close_matches(str(word).casefold(), list(by_folded), n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def allowed_values(options: Iterable[object], *, most: int = 12) -> str:
    """`allowed: a, b, c`, cut after `most` with the count of the rest."""
    names = [str(option) for option in options]
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return "allowed: " + ", ".join(names[:most]) + rest


def shorten(found: object, *, most: int = MOST_SHOWN) -> str:
    """What was found, as a message quotes it: at most `most` characters, and how long it was.

    >>> shorten("abc"), shorten(["abc"] * 40, most=20)
    ("'abc'", "['abc', 'abc', 'abc'… (40 entries)")
    """
    if isinstance(found, list | tuple | dict) and len(found) > most:  # not written out whole to show its beginning
        return f"{shorten([*found][: most // 4], most=most).partition('…')[0]}… ({len(found):,} entries)"
    text = found if isinstance(found, str) else repr(found)
    if len(text) <= most:
        return repr(found)
    told = f"{len(found):,} entries" if isinstance(found, list | tuple | dict) else f"{len(text):,} characters"
    return f"{repr(text[:most]) if isinstance(found, str) else text[:most]}… ({told})"


def found_text(found: object) -> str:
    """`found 5`, or `found nothing` for what is empty.

    >>> found_text(5), found_text(""), found_text(None)
    ('found 5', 'found nothing', 'found nothing')
    """
    return "found nothing" if found is None or found == "" else f"found {shorten(found)}"
