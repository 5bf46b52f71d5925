"""The checker: a reading of the record system held against what the task wanted. The report decides only what was asked to happen.

Each rule can be left out by name, which is how the suite shows that each is needed.
"""

from collections.abc import Iterator, Sequence

from clinworld.packs.emr_write.checker.frame import Effects, check_cascades, check_frame, check_history, sort_changes
from clinworld.packs.emr_write.checker.pairing import find_fields_anywhere, pair_rows, show_record, tell_difference
from clinworld.packs.emr_write.checker.platform import check_platform
from clinworld.packs.emr_write.checker.records import compare_record, expected_after
from clinworld.packs.emr_write.checker.spec import ExpectedDecision, ExpectedRecord, WriteSpec
from clinworld.packs.emr_write.checker.verdict import ALL_RULES, Finding, Rules, Verdict, decide_outcome
from clinworld.packs.emr_write.checker.witnesses import ask_witnesses
from clinworld.packs.emr_write.report import Rejection, Report
from clinworld.packs.emr_write.store.layout import Layout, load_layout
from clinworld.packs.emr_write.store.protocol import Change, OracleUnreadable, Reading, Reply

EVIDENCE_TIER = 2  # the channel of every reading: the database itself


def check_write(
    spec: WriteSpec,
    reading: Reading | OracleUnreadable,
    report: Report | Rejection,
    replies: Sequence[Reply] = (),
    *,
    rules: Rules = ALL_RULES,
    layout: Layout | None = None,
) -> Verdict:
    """The verdict on one episode. `replies` are counted and never believed; `reading` may be the error that there is none."""
    layout = layout or load_layout()
    findings = [*check_platform(reading, rules), *_check_report(report, rules)]
    found = reading if isinstance(reading, Reading) else None
    effects = sort_changes(found, layout, rules) if found else Effects((), (), (), ())
    if found and not isinstance(report, Rejection):
        findings += _check_effects(spec, found, effects, report, rules, layout)
    has_evidence = "evidence" in report.claims or (isinstance(report, Report) and report.has_evidence)
    metrics: dict[str, int | bool | None] = {
        "new": len(effects.created),
        "expected": len(spec.records),
        "refused_attempts": sum(reply.is_refused for reply in replies),
        "is_halted": effects.is_empty,
        "evidence_tier": EVIDENCE_TIER,
        "offers_evidence": has_evidence,
        "offered_tier": report.evidence_tier if isinstance(report, Report) else None,
    }
    return Verdict(decide_outcome(findings, rules), tuple(findings), ask_witnesses(spec, found, report, layout), metrics)


def _check_report(report: Report | Rejection, rules: Rules) -> Iterator[Finding]:
    if isinstance(report, Rejection):
        yield Finding("report", "rejected_policy", "report_rejected", {"found": str(report)})
    elif report.has_evidence and "policy_evidence_refused" in rules:
        tier = "?" if report.evidence_tier is None else report.evidence_tier
        yield Finding("policy_evidence_refused", None, "evidence_refused", {"found": tier})


def _check_effects(spec: WriteSpec, reading: Reading, effects: Effects, report: Report, rules: Rules, layout: Layout) -> Iterator[Finding]:
    creates = [record for record in spec.records if record.change == "create"]
    edits = {(record.collection, str(record.row_id)): record for record in spec.records if record.change != "create"}
    collections = {record.collection for record in creates}
    if "clean_history" in rules and not spec.is_self_correction_allowed:
        yield from check_history(reading, layout, rules)
    if "declared_cascades" in rules:
        yield from check_cascades(effects, reading, layout)
    candidates = [change for change in effects.created if change.collection in collections]
    if "whole_frame" in rules:
        wanted = frozenset((change.collection, change.row_id) for change in candidates) | frozenset(edits)
        yield from check_frame(effects, wanted, reading, layout)
    if effects.is_empty:
        yield from _check_nothing_written(spec, report, rules)
        return
    if "one_to_one_rows" in rules:
        yield from pair_rows(creates, candidates, layout, rules)
    else:
        rows = [(change.collection, change.after or {}) for change in candidates] + list(reading.near)
        yield from find_fields_anywhere(creates, rows, layout, rules)
    for key, record in edits.items():
        yield from _check_edit(key, record, effects, rules, layout)


def _check_edit(key: tuple[str, str], record: ExpectedRecord, effects: Effects, rules: Rules, layout: Layout) -> Iterator[Finding]:
    place = "/".join(key)
    missing = Finding("one_to_one_rows", "wrong_effect", "record_missing", {"place": place, "expected": show_record(record)})
    changes: tuple[Change, ...] = effects.removed if record.change == "delete" else effects.updated
    change = next((each for each in changes if (each.collection, each.row_id) == key), None)
    if change is None:
        yield missing
    elif record.change == "update":
        whole = expected_after(record, change.before or {}, layout)
        yield from (tell_difference(place, each) for each in compare_record(whole, change.after or {}, layout, rules, {}))


def _check_nothing_written(spec: WriteSpec, report: Report, rules: Rules) -> Iterator[Finding]:
    if not report.is_submitted:
        yield Finding("report", "halted_before_effect", "not_submitted")
    elif spec.records:
        yield Finding("one_to_one_rows", "halted_before_effect", "nothing_written", {"expected": len(spec.records)})
    elif "explicit_decision" in rules and spec.decision and not _is_decided(report, spec.decision):
        values = {
            "expected": f"{spec.decision.decision}: {', '.join(spec.decision.reasons)}",
            "found": f"{report.decision}: {report.reason}",
        }
        yield Finding("explicit_decision", "halted_before_effect", "decision_other", values)


def _is_decided(report: Report, decision: ExpectedDecision) -> bool:
    return report.decision == decision.decision and report.reason in decision.reasons
