"""Every owned device records something, and nothing is recorded without its device."""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("devices_that_record", "a_wearable_without_a_stream")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the patient's devices."""
    names = {series.name for series in case.gold.chart.series}
    groups = {row.group for name in names if (row := case.knowledge.analytes.get(name))}
    findings = [
        Finding("devices_record", f"device {device}", "no series of it is charted", "reports " + ", ".join(row.reports))
        for device in case.item.record.profile.devices
        if (row := case.knowledge.devices[device]).reports and not (set(row.reports) & (names | groups))
    ]
    return Outcome(len(case.item.record.profile.devices), tuple(findings), "no device declared")
