"""Numbers that must be in order, printable and inside their bounds."""

from collections.abc import Iterator

from clinworld.core.units import from_ticks, to_ticks
from clinworld.knowledge.faults import find_unknown
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.places import place_of, rows_in_question
from clinworld.knowledge.rows import Analyte, Stream
from clinworld.schema.finding import Finding

_MENOPAUSE = "levels_after_menopause_"
_RANGES = {  # parameters whose ids begin so, and the values they may have
    "background.documented_share.": (0.0, 1.0),
    "background.odds_per_5_bmi.": (0.1, 10.0),
    "history_years_there.": (0.0, 100.0),
    "kin.": (-5.0, 5.0),
    "kin_down.": (-5.0, 5.0),
    "kin_up.": (-5.0, 5.0),
    "presenting.lifelong.": (1.0, 1.0),
}
_LEVELS = ("levels_usual_mean.", f"{_MENOPAUSE}low.", f"{_MENOPAUSE}high.")  # of the analyte they end with
_INSIDE = ("ref_low_m", "ref_high_m", "ref_low_f", "ref_high_f", "ref_low", "ref_high", "cut", "mean_m", "mean_f", "diagnostic_high")


def check_bounds(knowledge: Knowledge) -> Iterator[Finding]:
    """Bounds rise and stand on the printed grid; reference limits, cuts, means and diagnostic limits lie inside them."""
    for kind in ("analytes", "streams", "findings"):
        for key, row in knowledge.table(kind).items():
            if row.hard_low is None or row.hard_high is None or row.decimals is None:
                continue
            if not row.hard_low < row.hard_high:
                allowed = f"hard_high above {row.hard_low:g}"
                yield Finding("bounds_in_order", place_of(knowledge, kind, key, "hard_high"), f"{row.hard_high:g}", allowed)
            for cell in ("hard_low", "hard_high"):
                value = getattr(row, cell)
                if abs(float(from_ticks(to_ticks(value, row.decimals), row.decimals)) - value) > 1e-9 * max(1.0, abs(value)):
                    yield Finding(
                        "bounds_printable", place_of(knowledge, kind, key, cell), f"{value:g}", f"a value of {row.decimals} decimals"
                    )
            for cell in _INSIDE:
                inside = getattr(row, cell, None)
                if inside is not None and not row.hard_low <= inside <= row.hard_high:
                    allowed = f"{row.hard_low:g} to {row.hard_high:g}"
                    yield Finding("bounds_in_order", place_of(knowledge, kind, key, cell), f"{inside:g}", allowed)
            for ending in ("", "_m", "_f"):
                low, high = getattr(row, f"ref_low{ending}", None), getattr(row, f"ref_high{ending}", None)
                if low is not None and high is not None and low >= high:
                    place = place_of(knowledge, kind, key, f"ref_high{ending}")
                    yield Finding("bounds_in_order", place, f"{high:g}", f"above ref_low{ending}, {low:g}")


def check_levels(knowledge: Knowledge) -> Iterator[Finding]:
    """A starting level's mean lies between its low and high, and these inside the item's bounds.

    Physiology is claimed exactly where there are levels.
    """
    for key, condition in knowledge.conditions.items():
        if condition.has_physiology != bool(condition.levels):
            found = f"{str(condition.has_physiology).lower()} with {len(condition.levels)} levels"
            yield Finding(
                "level_is_usable", place_of(knowledge, "conditions", key, "has_physiology"), found, "true exactly where levels are given"
            )
        items = [level.item for level in condition.levels]
        for number, level in enumerate(condition.levels):
            place = place_of(knowledge, "conditions", key, f"levels[{number}] ({level.item})")
            if items.count(level.item) > 1:
                yield Finding("level_is_usable", place, "the item again", "each item stands once")
            for mean in (level.mean, level.mean_m, level.mean_f):
                if mean is not None and not level.low < mean < level.high:
                    yield Finding("level_is_usable", place, f"mean {mean:g}", f"between low {level.low:g} and high {level.high:g}")
            row = knowledge.analytes.get(level.item) or knowledge.streams.get(level.item)
            if row is not None and not (row.hard_low <= level.low and level.high <= row.hard_high):
                allowed = f"inside {row.hard_low:g} to {row.hard_high:g}"
                yield Finding("level_is_usable", place, f"{level.low:g} to {level.high:g}", allowed)


def check_diagnostic_limits(knowledge: Knowledge) -> Iterator[Finding]:
    """A patient without a diagnosis starts under its limits; one with it starts at or over one of them."""
    limits: dict[str, Analyte | Stream] = {}
    for kind in ("analytes", "streams"):
        for key, row in knowledge.table(kind).items():
            if (row.diagnostic_high is None) != (not row.diagnostic_of):
                place = place_of(knowledge, kind, key, "diagnostic_of")
                yield Finding("diagnosis_holds", place, repr(row.diagnostic_of), "diagnostic_high and diagnostic_of together, or neither")
            elif row.diagnostic_high is not None:
                limits[key] = row
                place = place_of(knowledge, kind, key, "diagnostic_of")
                yield from find_unknown("diagnosis_holds", place, (row.diagnostic_of,), knowledge.conditions, "a condition")
    for key, condition in knowledge.conditions.items():
        for number, level in enumerate(condition.levels):
            limit = limits.get(level.item)
            if limit is None or limit.diagnostic_high is None:
                continue
            place = place_of(knowledge, "conditions", key, f"levels[{number}] ({level.item})")
            if limit.diagnostic_of != key and level.high >= limit.diagnostic_high:
                allowed = f"under {limit.diagnostic_high:g}, where {limit.diagnostic_of} would be diagnosed"
                yield Finding("diagnosis_holds", f"{place}, high", f"{level.high:g}", allowed)
        own = [level for level in condition.levels if level.item in limits and limits[level.item].diagnostic_of == key]
        needed = [limits[level.item].diagnostic_high or 0.0 for level in own]
        if own and not any(level.low >= least for level, least in zip(own, needed, strict=True)):
            place = place_of(knowledge, "conditions", key, f"levels ({own[0].item})")
            yield Finding("diagnosis_holds", f"{place}, low", f"{own[0].low:g}", f"at least {needed[0]:g}, the diagnostic limit")


def check_drivers(knowledge: Knowledge) -> Iterator[Finding]:
    """A driver with evidence says from where to where the stream moves and when; one without says nothing of it."""
    for key, driver in knowledge.drivers.items():
        place = place_of(knowledge, "drivers", key, "evidence")
        told = (driver.normal is not None, driver.abnormal is not None, driver.lead_days is not None)
        if told != (bool(driver.evidence),) * 3:
            yield Finding(
                "driver_evidence_is_whole", place, repr(driver.evidence), "evidence, normal, abnormal and lead_days together, or none"
            )
        stream = knowledge.streams.get(driver.evidence)
        if stream is None:
            continue
        if driver.evidence not in driver.observed_in:
            yield Finding(
                "driver_evidence_is_whole",
                place_of(knowledge, "drivers", key, "observed_in"),
                ", ".join(driver.observed_in) or "nothing",
                f"the evidence, {driver.evidence}, among them",
            )
        if driver.normal == driver.abnormal:
            yield Finding(
                "driver_evidence_is_whole",
                place_of(knowledge, "drivers", key, "abnormal"),
                f"{driver.abnormal}",
                "a level other than normal",
            )
        for cell in ("normal", "abnormal"):
            value = getattr(driver, cell)
            if value is not None and not stream.hard_low <= value <= stream.hard_high:
                allowed = f"{stream.hard_low:g} to {stream.hard_high:g}"
                yield Finding("driver_evidence_is_whole", place_of(knowledge, "drivers", key, cell), f"{value:g}", allowed)


def check_artifacts(knowledge: Knowledge) -> Iterator[Finding]:
    """A fault has a range of sizes that rises, or factors, or neither; a size in the unit of the readings says which way it moves them."""
    for key, row in rows_in_question(knowledge, "artifacts"):
        low, high, stream = row.size_low, row.size_high, knowledge.streams.get(row.series)
        place = place_of(knowledge, "artifacts", key, "size_high")
        if (low is None) != (high is None) or (low is not None and row.factors):
            ends = {"size_low": low, "size_high": high, "factors": "|".join(f"{each:g}" for each in row.factors) or None}
            found = ", ".join(f"{name} {value}" for name, value in ends.items() if value is not None)
            yield Finding("artifact_size_is_whole", place, found, "size_low and size_high together, or factors, or none of them")
        elif low is not None and high is not None and not 0 < low < high:
            yield Finding("artifact_size_is_whole", place, f"{low:g} to {high:g}", "size_low above 0 and size_high above it")
        for factor in row.factors:
            if factor in (0, 1):
                place = place_of(knowledge, "artifacts", key, "factors")
                yield Finding("artifact_size_is_whole", place, f"{factor:g}", "factors above 0 other than 1")
        moves = stream is not None and low is not None and row.unit == stream.ucum
        if stream is not None and bool(row.direction) != moves:
            place = place_of(knowledge, "artifacts", key, "direction")
            allowed = f"a direction where the size is in {stream.ucum}, none elsewhere"
            yield Finding("artifact_size_is_whole", place, repr(row.direction), allowed)


def check_missing_days(knowledge: Knowledge) -> Iterator[Finding]:
    """Missing days come in runs: off after an off day is at least as likely as off after a worn one."""
    for key, stream in knowledge.streams.items():
        if stream.p_off_off < stream.p_off_worn:
            place = place_of(knowledge, "streams", key, "p_off_off")
            yield Finding("missing_days_run", place, f"{stream.p_off_off:g}", f"at least p_off_worn, {stream.p_off_worn:g}")


def check_parameter_ranges(knowledge: Knowledge) -> Iterator[Finding]:
    """Parameters of a family are values their family may have; levels lie inside the bounds of their analyte, and rise."""
    for key, row in knowledge.parameters.items():
        place = place_of(knowledge, "parameters", key, "value")
        for beginning, (low, high) in _RANGES.items():
            if key.startswith(beginning) and not low <= row.value <= high:
                allowed = f"{low:g} to {high:g}" if low < high else f"{low:g}; leave the row out for no"
                yield Finding("parameter_in_range", place, f"{row.value:g}", allowed)
        for beginning in _LEVELS:
            analyte = knowledge.analytes.get(key.removeprefix(beginning)) if key.startswith(beginning) else None
            if analyte is not None and not (row.value > 0.0 and analyte.hard_low <= row.value <= analyte.hard_high):
                yield Finding("parameter_in_range", place, f"{row.value:g}", f"between {analyte.hard_low:g} and {analyte.hard_high:g}")
        if key.startswith(_MENOPAUSE):
            end, _, name = key.removeprefix(_MENOPAUSE).partition(".")
            other = knowledge.parameters.get(f"{_MENOPAUSE}{'high' if end == 'low' else 'low'}.{name}")
            if other is None:
                yield Finding("parameter_in_range", place, "one end alone", f"{_MENOPAUSE}low.{name} and {_MENOPAUSE}high.{name} together")
            elif end == "high" and row.value <= other.value:
                yield Finding("parameter_in_range", place, f"{row.value:g}", f"above {_MENOPAUSE}low.{name}, {other.value:g}")
