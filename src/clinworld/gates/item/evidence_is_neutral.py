"""Only the true driver's evidence moves by T, and that of every other is charted too, so that its presence names nothing.

A stream that not everybody has by its row (`p_present` below 1) may be absent.
"""

import numpy as np

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Driver, Stream
from clinworld.schema.finding import Finding
from clinworld.schema.record import Series

CONTROLS = ("one_driver_with_moving_evidence", "a_second_driver_with_moving_evidence")
GATE = "evidence_is_neutral"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the evidence streams of all drivers this patient's devices can show."""
    devices, true = set(case.item.record.profile.devices), case.gold.gold.drivers
    findings: list[Finding] = []
    checked = 0
    for driver in case.knowledge.drivers.values():
        row = case.knowledge.streams.get(driver.evidence)
        if row is None or (row.devices and not devices & set(row.devices)):
            continue
        checked += 1
        series = case.find_shown(row.id)
        if series is None and row.p_present == 1:
            findings.append(Finding(GATE, f"stream {row.id}", "not charted by T", "the evidence of every driver is charted"))
        elif series is not None and driver.id not in true and (shift := stray(series, driver, row, case.knowledge)):
            findings.append(Finding(GATE, f"stream {row.id}", shift, f"{driver.id} is not the answer"))
    return Outcome(checked, tuple(findings), "no driver has a stream of its own")


def stray(series: Series, driver: Driver, row: Stream, knowledge: Knowledge) -> str:
    """How far the last third of a series lies off its first third, "" when that is small against its noise or the driver's full move."""
    third = len(series.ticks) // 3
    if third < 2 or driver.normal is None or driver.abnormal is None:
        return ""
    values, full = series.values(), driver.abnormal - driver.normal
    if row.scale == "log":
        values, full = np.log(np.maximum(values, 10.0**-row.decimals)), float(np.log(driver.abnormal / driver.normal))
    moved = float(values[-third:].mean() - values[:third].mean())
    error = row.sd_within * float(np.sqrt(2 / third * (1 + max(row.lag1, 0.0)) / (1 - max(row.lag1, 0.0))))
    limit = max(knowledge.parameter("neutral.share_of_move") * abs(full), knowledge.parameter("neutral.z") * error)
    return f"last third {moved:+.2f} from the first, limit {limit:.2f}" if moved * np.sign(full) > limit else ""
