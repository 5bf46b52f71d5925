"""What a report says, collected once and rendered three ways (page, Markdown, tables). Nothing here is computed from a patient."""

from collections.abc import Mapping
from dataclasses import dataclass

from clinworld.core.text import Language
from clinworld.report.timelines import Compact, Timeline
from clinworld.run.batch_files import BatchFacts
from clinworld.schema.cell import Evaluation
from clinworld.schema.finding import Finding, GateResult
from clinworld.schema.pack import Pack
from clinworld.schema.verdict import Verdict
from clinworld.scores.rows import Board


@dataclass(frozen=True, slots=True)
class KnowledgeUse:
    """What the items of a part rest on: distinct knowledge rows by status, and items that use a row which is not `checked`."""

    items: int
    items_not_checked: int
    rows: int
    by_status: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ItemGateCount:
    """How one item gate came out over the cases of a batch that reached it; `unmeasured` has its commonest reason."""

    gate: str
    passed: int
    failed: int
    unmeasured: int
    reason: str


@dataclass(frozen=True, slots=True)
class BatchPart:
    """One batch: its batch.json, the batch gates, and the item gates over its cases. `digests` are (item, row digest, prompt digests)."""

    job_id: str
    stamp: str
    facts: BatchFacts
    gates: tuple[GateResult, ...]
    item_gates: tuple[ItemGateCount, ...]
    conflicts: Mapping[str, tuple[Finding, ...]]  # case id → everything found, each `check` a kind
    withheld: tuple[tuple[str, int, str, str], ...]  # (case id, day, context as written, why)
    digests: tuple[tuple[str, str, Mapping[str, str]], ...]


@dataclass(frozen=True, slots=True)
class PatientPart:
    """One item for the reader: who, what is true of it, and its picture; `timeline` None where only the small one is shown."""

    item_id: str
    case_id: str
    facts: tuple[tuple[str, str], ...]  # (label, value)
    timeline: Timeline | None
    compact: Compact


@dataclass(frozen=True, slots=True)
class Setting:
    """One of the three difficulties: `name` quiet, as_asked or hard."""

    name: str
    timeline: Timeline
    faults: int
    events: int
    series: int


@dataclass(frozen=True, slots=True)
class Settings:
    """One patient three times. Without pictures `reason` says why; `same_truth` is whether the truth is equal to the last digit."""

    case_id: str
    item_id: str
    settings: tuple[Setting, ...]
    same_truth: bool
    reason: str


@dataclass(frozen=True, slots=True)
class WeakBaseline:
    """The best answer to a dimension that looks at nothing."""

    dimension: str
    value: float | None
    how: str


@dataclass(frozen=True, slots=True, eq=False)
class BoardPart:
    """One episode and probe set: the board, and the verdicts that are reported without entering it, on the same items.

    `floors` are (floor's how, ceiling's how) by verdict. `probes` names, for each appended kind of question, its verdict.
    """

    board: Board
    reported: Board | None
    floors: Mapping[str, tuple[str, str]]
    probes: tuple[tuple[str, str], ...]
    stale_judges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """What one agent said at the end of one item's episode, and what the judges said of it. `reply` is raw and may be anything."""

    agent: str
    source: str
    state: str
    cause: str
    turns: int
    reply: str
    verdicts: tuple[Verdict, ...]
    hits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskedItem:
    """One item as it was asked. `prompt` is the opening turn; `is_as_sent` says whether its digest is the stored one, None unknown."""

    item_id: str
    case_id: str
    episode: str
    probe_set: str
    day: int
    prompt: str
    digest: str
    is_as_sent: bool | None
    replies: tuple[ReplyPart, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Replies by source, and the tokens that are known; `unknown` counts turns whose usage nobody stated."""

    turns: int
    failed: int
    by_source: tuple[tuple[str, int], ...]
    known: tuple[tuple[str, int], ...]
    unknown: int


@dataclass(frozen=True, slots=True, eq=False)
class ReportPart:
    """Everything of one pack. Its rows stand under one world, exam and judge stamp (`stamps`); `superseded` older rows are not shown."""

    pack: Pack
    batches: tuple[BatchPart, ...]
    knowledge: KnowledgeUse
    patients: tuple[PatientPart, ...]
    settings: Settings
    boards: tuple[BoardPart, ...]
    weak_baselines: tuple[WeakBaseline, ...]
    asked: tuple[AskedItem, ...]
    usage: Usage
    evaluations: tuple[Evaluation, ...]
    stamps: Mapping[str, str]
    drift: str
    superseded: int
    gold_missing: str


@dataclass(frozen=True, slots=True, eq=False)
class ReportContent:
    """A whole report in one language. `incomplete` says what is missing for it to be final, nothing when it is."""

    language: Language
    parts: tuple[ReportPart, ...]
    incomplete: tuple[str, ...]
    as_judged: str
