"""Printed values: the one rounding rule of the package, and readable forms of UCUM codes."""

import re
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray


def to_ticks(values: ArrayLike, decimals: int) -> NDArray[np.int64]:
    """Values as whole multiples of the last printed digit, half to even.

    >>> [int(t) for t in to_ticks([98.24, 98.25], 1)]
    [982, 982]
    """
    scaled = np.asarray(values, dtype=np.float64)
    return np.rint(scaled * 10.0**decimals if decimals else scaled).astype(np.int64)


def to_tick(value: float, decimals: int) -> int:
    """One value as `to_ticks` gives it.

    >>> to_tick(98.25, 1), to_tick(-0.5, 0)
    (982, 0)
    """
    return round(value * 10.0**decimals if decimals else value)


def from_ticks(ticks: ArrayLike, decimals: int) -> NDArray[np.float64]:
    """The values that `ticks` print as."""
    return np.asarray(ticks, dtype=np.float64) / 10.0**decimals


def print_tick(tick: int, decimals: int) -> str:
    """A tick as it stands in a record, always with its decimals.

    >>> print_tick(980, 1), print_tick(-5, 1), print_tick(72, 0)
    ('98.0', '-0.5', '72')
    """
    if decimals == 0:
        return str(int(tick))
    sign, whole = ("-" if tick < 0 else ""), abs(int(tick))
    scale = 10**decimals
    return f"{sign}{whole // scale}.{whole % scale:0{decimals}d}"


_READABLE = {"Cel": "°C", "{score}": "points", "mg{FEU}/L": "mg/L FEU"}
_WRITTEN = {"{1.73_m2}": "1.73 m²", "[Hg]": "Hg", "[IU]": "IU", "[arb'U]": "AU", "(24.h)": "24 h", "10*": "10^", "{": "", "}": ""}


def readable_unit(ucum: str) -> str:
    """A UCUM code as a clinician writes it.

    >>> readable_unit("mm[Hg]"), readable_unit("mL/min/{1.73_m2}"), readable_unit("10*9/L"), readable_unit("k[IU]/L")
    ('mmHg', 'mL/min/1.73 m²', '10^9/L', 'kIU/L')
    """
    if ucum in _READABLE:
        return _READABLE[ucum]
    for code, written in _WRITTEN.items():
        ucum = ucum.replace(code, written)
    return ucum


_PREFIXES = ("", "k", "d", "c", "m", "u", "n", "p", "f", "M", "G")
_METRIC = ("g", "mol", "L", "U", "[IU]", "eq", "osm", "m", "m[Hg]", "Pa", "s", "Hz", "cal", "J", "W", "V", "kat")
_PLAIN = ("%", "min", "h", "d", "wk", "mo", "a", "Cel", "deg", "[pH]", "[arb'U]", "10*")


@lru_cache(maxsize=1)
def _ucum_pattern() -> re.Pattern[str]:
    atoms = [prefix + atom for atom in _METRIC for prefix in _PREFIXES] + list(_PLAIN)
    atom = "|".join(map(re.escape, sorted(atoms, key=len, reverse=True)))
    note = r"\{[!-z|~]+\}"
    part = rf"(?:(?:(?:{atom})(?:-?[1-9][0-9]?)?|[1-9][0-9]*)(?:{note})?|{note})"
    return re.compile(rf"/?(?:{part}|\({part}(?:[./]{part})*\))(?:[./](?:{part}|\({part}(?:[./]{part})*\)))*")


def is_ucum(code: str) -> bool:
    """Whether a unit is a UCUM code made of the atoms that laboratories and wearables use.

    >>> is_ucum("mmol/L"), is_ucum("10*12/L"), is_ucum("mL/min/{1.73_m2}"), is_ucum("mg/(24.h)"), is_ucum("/min")
    (True, True, True, True, True)
    >>> is_ucum("mmol/l/"), is_ucum("mmHg"), is_ucum("points"), is_ucum("")
    (False, False, False, False)
    """
    return _ucum_pattern().fullmatch(code) is not None
