"""Numbers of a finding, printed so that what was found and what is allowed can be told apart."""

MOST_DECIMALS = 9


def tell_apart(found: float, limit: float, decimals: int, kind: str = "f", *, sign: str = "") -> tuple[str, str]:
    """Both numbers with as many decimals as they need to differ, at least `decimals`; `kind` is f or %, `sign` + or nothing.

    >>> tell_apart(1.6449, 1.65, 1, sign="+"), tell_apart(0.604, 0.6, 0, "%")
    (('+1.64', '+1.65'), ('60.4%', '60.0%'))
    """
    for places in range(decimals, MOST_DECIMALS + 1):
        form = f"{sign}.{places}{kind}"
        if format(found, form) != format(limit, form) or found == limit:
            break
    return format(found, form), format(limit, form)
