"""What the rows of tests, findings, laboratory factors and comorbid pairs must agree with.

Alternatives need not be mutual, since a finer test stands in for a coarser one and not the other way, nor measure the same item: an
image of another kind, or a questionnaire for a laboratory value, can answer the question as well.
"""

from collections.abc import Iterator

from clinworld.core.units import is_ucum
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.places import place_of, rows_in_question
from clinworld.schema.finding import Finding


def check_finding_kinds(knowledge: Knowledge) -> Iterator[Finding]:
    """A finding is a number, with unit, decimals, bounds and what is out of order, or it has a phrase for found and one for not found."""
    numeric, worded = ("decimals", "hard_low", "hard_high"), ("positive", "negative")
    for key, row in knowledge.findings.items():
        for cell in numeric if row.is_numeric else worded:
            if getattr(row, cell) is None:
                allowed = "a value, as it has a unit" if row.is_numeric else "a phrase, as it has no unit"
                yield Finding("finding_kind_is_whole", place_of(knowledge, "findings", key, cell), "nothing", allowed)
        limits = [cell for cell in ("cut", "ref_low", "ref_high") if getattr(row, cell) is not None]
        if row.is_numeric and not limits:
            place = place_of(knowledge, "findings", key, "cut")
            yield Finding("finding_kind_is_whole", place, "nothing", "a cut or a reference limit, as it has a unit")
        for cell in () if row.is_numeric else (*numeric, *limits):
            if getattr(row, cell) is not None:
                found = f"{getattr(row, cell):g}"
                yield Finding("finding_kind_is_whole", place_of(knowledge, "findings", key, cell), found, "nothing, as it has no unit")


def check_units(knowledge: Knowledge) -> Iterator[Finding]:
    """A unit is a UCUM code."""
    for kind in ("analytes", "streams", "findings"):
        for key, row in rows_in_question(knowledge, kind):
            if row.ucum and not is_ucum(row.ucum):
                yield Finding("unit_is_ucum", place_of(knowledge, kind, key, "ucum"), repr(row.ucum), "a UCUM code, mmol/L for example")


def check_alternatives(knowledge: Knowledge) -> Iterator[Finding]:
    """A test is no alternative of itself."""
    for key, row in knowledge.tests.items():
        if key in row.alternatives:
            yield Finding("alternative_is_another", place_of(knowledge, "tests", key, "alternatives"), repr(key), "other tests")


def check_factor_effects(knowledge: Knowledge) -> Iterator[Finding]:
    """An effect is called by its factor and item, and its size rises, goes the way it moves and is in % or the item's own unit."""
    for key, row in knowledge.factor_effects.items():
        place = place_of(knowledge, "factor_effects", key)
        if key != f"{row.factor}__{row.item}":
            yield Finding("factor_effect_is_whole", f"{place}, id", repr(key), repr(f"{row.factor}__{row.item}"))
        sizes = [size for size in (row.low, row.high) if size is not None]
        if len(sizes) == 1 or bool(sizes) != bool(row.unit):
            found = f"{len(sizes)} sizes with unit {row.unit!r}"
            yield Finding("factor_effect_is_whole", f"{place}, unit", found, "low, high and unit together, or none of them")
        if len(sizes) > 1 and sizes[0] > sizes[1]:
            yield Finding("factor_effect_is_whole", f"{place}, high", f"{sizes[1]:g}", f"at least low, {sizes[0]:g}")
        if (row.moves == "up" and any(size < 0 for size in sizes)) or (row.moves == "down" and any(size > 0 for size in sizes)):
            yield Finding("factor_effect_is_whole", f"{place}, moves", row.moves, "the sign of low and high")
        if row.unit == "%" and any(size <= -100 for size in sizes):
            yield Finding("factor_effect_is_whole", f"{place}, low", f"{row.low:g}", "more than -100 %: nothing loses more than all of it")
        item = knowledge.items.get(row.item)
        units = ("%", "pp" if item is not None and item.ucum == "%" else item.ucum if item is not None else "")
        if row.unit and item is not None and row.unit not in units:
            yield Finding("factor_effect_is_whole", f"{place}, unit", repr(row.unit), " or ".join(units))


def check_platforms(knowledge: Knowledge) -> Iterator[Finding]:
    """A platform with a factor says what it measures, and that is all its factor moves; the usual one says nothing."""
    for key, row in knowledge.platforms.items():
        place = place_of(knowledge, "platforms", key, "measures")
        moved = [each.item for each in knowledge.factor_effects.values() if each.factor == row.factor]
        calculated = [name for name, each in knowledge.analytes.items() if each.derived_by]
        missing = [name for name in moved if name not in (*row.measures, *calculated)]
        if not row.factor and row.measures:
            yield Finding("platform_measures_its_own", place, ", ".join(row.measures), "nothing, as it has no factor")
        elif missing:
            yield Finding("platform_measures_its_own", place, f"not {', '.join(missing)}", f"all that {row.factor} moves")


def check_comorbidities(knowledge: Knowledge) -> Iterator[Finding]:
    """A pair is called by its two conditions, which differ, and its share rises."""
    for key, row in knowledge.comorbidities.items():
        place = place_of(knowledge, "comorbidities", key)
        if key != f"{row.a}__{row.b}":
            yield Finding("pair_is_whole", f"{place}, id", repr(key), repr(f"{row.a}__{row.b}"))
        if row.a == row.b:
            yield Finding("pair_is_whole", f"{place}, b", repr(row.b), f"a condition other than {row.a}")
        if row.share_low is not None and row.share_high is not None and row.share_low > row.share_high:
            yield Finding("pair_is_whole", f"{place}, share_high", f"{row.share_high:g}", f"at least {row.share_low:g}")
        if (row.share_low is None) != (row.share_high is None):
            yield Finding("pair_is_whole", f"{place}, share_high", "one share", "share_low and share_high together, or neither")
