"""Every owned device records something, and nothing is recorded without a device that can."""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.rows import Stream
from clinworld.schema.finding import Finding

CONTROLS = ("devices_that_record", "a_wearable_without_a_stream")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the patient's devices and over the charted series."""
    devices = case.item.record.profile.devices
    names = {series.name for series in case.gold.chart.series if len(series.days)}
    groups = {case.knowledge.analytes[name].group for name in names if name in case.knowledge.analytes}
    findings = [
        Finding("devices_record", f"device {device}", "no series of it is charted", "reports " + ", ".join(row.reports))
        for device in devices
        if (row := case.knowledge.devices[device]).reports and not (set(row.reports) & (names | groups))
    ]
    for series in case.gold.chart.series:
        needed = needed_devices(case, series.name)
        if needed and not set(needed) & set(devices):
            owned = ", ".join(devices) or "no device"
            findings.append(Finding("devices_record", f"series {series.name}", f"charted with {owned}", "needs " + " or ".join(needed)))
    return Outcome(len(devices) + len(names), tuple(findings), "no device and no series")


def needed_devices(case: CaseUnderCheck, name: str) -> tuple[str, ...]:
    """The devices one of which a series comes from; none for a diary, and for what everybody has."""
    row = case.row(name)
    if row is None:
        return ()
    return row.devices if isinstance(row, Stream) else tuple(filter(None, (row.device,)))
