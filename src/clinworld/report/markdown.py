"""The same report as Markdown of a few screens: what it is, scores, gates, appended questions, refusals, provenance."""

import re
from collections.abc import Iterable, Sequence

from clinworld.core.canary import CANARY
from clinworld.core.text import Language
from clinworld.report.content import BoardPart, ReportContent, ReportPart, WeakBaseline
from clinworld.report.gate_table import sum_gates
from clinworld.report.page import print_interval, print_number
from clinworld.report.plots import list_lines
from clinworld.report.wording import make_visible, report_labels, say, say_part, say_reason
from clinworld.schema.finding import Finding
from clinworld.scores.rows import AgentScore, DimensionScore

MOST_ROWS, MOST_REFUSALS, MOST_CELL = 30, 12, 160
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!])")


def render_markdown(content: ReportContent) -> str:
    """The whole report; equal content gives equal bytes."""
    blocks = [f"<!-- {CANARY} -->"]
    for part in content.parts:
        blocks += _part(part, content)
    return "\n\n".join(blocks) + "\n"


def plain(text: object) -> str:
    """Outside text as one line that Markdown shows as it is."""
    line = " ".join(make_visible(str(text)[: MOST_CELL + 1]).split())
    return _SPECIAL.sub(r"\\\1", line if len(line) <= MOST_CELL else line[:MOST_CELL] + "\u2026")


def _part(part: ReportPart, content: ReportContent) -> Iterable[str]:
    language = content.language
    yield "# " + say("title", language, jobs=plain(" ".join(batch.job_id for batch in part.batches)))
    yield plain(part.pack.asks.say(language))
    yield " · ".join(f"**{say(f'warning:{name}', language)}**" for name in ("synthetic", "evaluation", "advice", "reviewed"))
    yield "\n".join(f"- {line}" for line in _summary(part, language))
    if content.incomplete:
        yield f"**{say('sum:incomplete', language)}**" + "".join(f"\n- {_why(line, language)}" for line in content.incomplete[:8])
    for board in part.boards:
        yield from _board(board, part, language)
    yield "## " + say("refused:title", language)
    yield _refusals(part, language)
    yield _batch_gates(part, language)
    yield "## " + say("prov:title", language)
    yield _provenance(part, language)


def _summary(part: ReportPart, language: Language) -> Iterable[str]:
    counts = [batch.facts.counts for batch in part.batches]
    made = say("sum:cases_of", language, emitted=sum(c["emitted"] for c in counts), cases=sum(c["cases"] for c in counts))
    yield f"{made} {say('sum:cases', language)}"
    yield say("about:knowledge", language, resting=part.knowledge.items_not_checked, items=part.knowledge.items)
    yield say("limit:judge", language)
    yield say("limit:sampling", language)
    weak = [each for each in part.weak_baselines if each.value is not None]
    if weak:
        yield say("about:weak", language) + "".join(f"\n  - {_weak(each, language)}" for each in weak)


def _weak(each: WeakBaseline, language: Language) -> str:
    name, how = _name("verdict", each.dimension, language), _why(each.how, language)
    return say("about:weak_row", language, name=name, value=print_number(each.value), how=how)


def _board(board: BoardPart, part: ReportPart, language: Language) -> Iterable[str]:
    asked = (_name("episode", board.board.episode, language), _name("probe_set", board.board.probe_set, language))
    yield "## " + say("scores:board", language, episode=asked[0], probes=asked[1])
    state = "" if board.board.state == "ranked" else f" **{_why(board.board.state, language)}**"
    yield say("scores:items", language, count=len(board.board.common_items)) + state
    lines = list_lines(board.board)
    if not lines:
        return
    yield _scores(lines, language)
    if board.board.one_valued:
        names = say("joiner", language).join(_name("verdict", name, language) for name in board.board.one_valued)
        yield say("scores:one_valued", language, names=names)
    yield "### " + say("gates:title", language)
    yield _gates(board, part, language)
    if board.reported and board.probes and board.board.probe_set != "none":
        yield "### " + say("probes:title", language)
        yield _probes(board, language)


def _scores(lines: Sequence[AgentScore], language: Language) -> str:
    dimensions = lines[0].dimensions
    head = [say(f"col:{name}", language) for name in ("agent", "answered", "headline", "multiplier")]
    head += [_name("verdict", each.verdict, language) for each in dimensions]
    none = [say("none", language)] * 3
    rows = [
        [say("row:floor", language), *none, *(_bound(each.floor, language) for each in dimensions)],
        [say("row:ceiling", language), *none, *(_bound(each.ceiling, language) for each in dimensions)],
    ]
    for line in lines[:MOST_ROWS]:
        headline = (
            f"{print_number(line.headline, 3)} {print_interval(line.headline_interval, 3)}".strip()
            if line.headline is not None
            else _why(line.headline_reason, language)
        )
        factor = print_number(line.multiplier, 3) if line.multiplier is not None else say("state:unmeasured", language)
        causes = "".join(f"; {count} {_name('cause', cause, language)}" for cause, count in line.unanswered.items())
        rows.append(
            [
                _agent(line, language),
                f"{line.answered}/{line.cells}{causes}",
                headline,
                factor,
                *(_dimension(each, language) for each in line.dimensions),
            ]
        )
    more = len(lines) - MOST_ROWS
    return _table(head, rows) + (f"\n\n{say('and_more', language, count=more)}" if more > 0 else "")


def _agent(line: AgentScore, language: Language) -> str:
    """An agent's name; a row that is none says what it is."""
    return plain(line.agent) + ("" if line.kind == "agent" else f" ({say(f'source:{line.source}', language)})")


def _bound(value: float | None, language: Language) -> str:
    return say("state:unmeasured", language) if value is None else print_number(value)


def _dimension(score: DimensionScore, language: Language) -> str:
    if score.value is None:
        return f"{say(f'state:{score.state}', language)}: {_why(score.reason, language)}"
    parts = [print_number(score.value), print_interval(score.interval), f"n {score.n}"]
    return " ".join(part for part in parts if part)


def _gates(board: BoardPart, part: ReportPart, language: Language) -> str:
    fields = [say(f"col:{name}", language) for name in ("units", "hit", "unknown", "cannot_fire")]
    both = [f"{say(f'col:of_{who}', language)}: {name}" for who in ("agents", "controls") for name in fields]
    rows = []
    for row in sum_gates(board.board, part.pack):
        cells = []
        for found in (row.agents, row.controls):
            nobody = found.note in ("no_agents", "no_controls")
            counts = (found.units, found.failed, found.unknown, found.cannot_fire)
            cells += [say(f"gate_note:{found.note}", language)] * 4 if nobody else [str(count) for count in counts]
            if not nobody and found.note:
                cells[-4] += f" ({_name('gate_note', found.note, language)})"
        rows.append([_name("gate", row.gate, language), say(f"role:{row.role}", language), *cells])
    return _table([say("col:gate", language), say("col:role", language), *both], rows)


def _probes(board: BoardPart, language: Language) -> str:
    assert board.reported is not None
    lines = list_lines(board.reported)
    verdicts = {verdict: kind for kind, verdict in board.probes}
    variants = {
        verdict: sorted({name for line in lines for each in line.dimensions if each.verdict == verdict for name in each.by_class})
        for verdict in verdicts
    }
    head = [say("col:agent", language)]
    head += [_name("variant", f"{verdicts[verdict]}:{name}", language) for verdict, names in variants.items() for name in names]
    rows = []
    for line in lines[:MOST_ROWS]:
        by_verdict = {each.verdict: each for each in line.dimensions}
        cells = [_agent(line, language)]
        for verdict, names in variants.items():
            for name in names:
                found = by_verdict[verdict].by_class.get(name)
                cells.append(f"{print_number(found[0])} n {found[1]}" if found else say("state:unmeasured", language))
        rows.append(cells)
    return _table(head, rows)


def _refusals(part: ReportPart, language: Language) -> str:
    refusals = [refusal for batch in part.batches for refusal in batch.facts.refusals]
    if not refusals:
        return say("refused:none", language)
    found = {case: findings for batch in part.batches for case, findings in batch.conflicts.items()}
    rows = []
    for each in refusals[:MOST_REFUSALS]:
        told = _told(found.get(each.case_id, ()), language) if language != "en" else ""
        rows.append([plain(each.case_id), f"{_kind(each.kind, language)} (`{each.kind}`)", plain(told or each.reason)])
    more = len(refusals) - MOST_REFUSALS
    head = [say(f"col:{name}", language) for name in ("case", "kind", "reason")]
    return _table(head, rows) + (f"\n\n{say('and_more', language, count=more)}" if more > 0 else "")


def _told(findings: Sequence[Finding], language: Language) -> str:
    """Findings in the page's language, as far as the tables have them."""
    colon, joiner = say("colon", language), say("reason_joiner", language)
    parts = ([say_part(text, language).text for text in (each.place, each.found, each.allowed) if text] for each in findings)
    told = joiner.join(place + colon + joiner.join(rest) for place, *rest in parts)
    stop = say("full_stop", language)
    return told.replace(stop + joiner, stop)


def _kind(kind: str, language: Language) -> str:
    """Why a case was refused: a contradiction by its kind, or the check it failed."""
    label = f"item_gate:{kind}"
    return say("refused:failed_check", language, name=say(label, language)) if label in report_labels() else _name("kind", kind, language)


def _batch_gates(part: ReportPart, language: Language) -> str:
    head = [say(f"col:{name}", language) for name in ("check", "state", "looked_at", "finding")]
    rows = []
    for batch in part.batches:
        for gate in batch.gates:
            told = _told(gate.findings, language) or say_reason(gate.reason, language).text
            said = plain(told) if told else say("none", language)
            rows.append([_name("batch_gate", gate.gate, language), say(f"state:{gate.state}", language), str(gate.checked), said])
    return _table(head, rows)


def _provenance(part: ReportPart, language: Language) -> str:
    lines = [f"`{name}` `{value}`" for name, value in part.stamps.items() if ":" not in name]
    for batch in part.batches:
        lines.append(f"{plain(batch.job_id)} {batch.stamp}, `{batch.facts.job_digest}`, {batch.facts.created_at}")
    usage = part.usage
    told = say("joiner", language).join(f"{_name('source', source, language)} {count}" for source, count in usage.by_source)
    lines.append(f"{usage.turns} {say('prov:turns', language)}" + (f" ({told})" if told else ""))
    if usage.known:
        lines += [f"`{name}`: {count}" for name, count in usage.known]
        lines += [f"{usage.unknown} {say('prov:usage_unknown', language)}"] if usage.unknown else []
    else:
        lines.append(say("prov:usage_none", language))
    return "\n".join(f"- {line}" for line in lines)


def _name(kind: str, name: str, language: Language) -> str:
    label = f"{kind}:{name}"
    return say(label, language) if label in report_labels() else plain(name)


def _why(text: str, language: Language) -> str:
    return plain(say_reason(text, language).text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
