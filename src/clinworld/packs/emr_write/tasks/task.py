"""One task: whose chart stands there, what must be written, the prompt that says so, and the report that does it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clinworld.core.text import Language, load_labels
from clinworld.packs.emr_write.checker.spec import WriteSpec
from clinworld.packs.emr_write.store.layout import load_layout
from clinworld.packs.emr_write.store.protocol import SeedRow
from clinworld.packs.emr_write.store.rows import encode_json

HERE = Path(__file__).parent
REASONS = (
    "within_range",
    "no_recent_result",
    "recent_result_exists",
    "criterion_not_met",
    "allergy_recorded",
    "already_ordered",
    "contraindicated",
)


@dataclass(frozen=True, slots=True)
class Task:
    """One episode's task. `setup` goes into the chart before it; `facts` are for scripted policies; `now` stamps the writes."""

    task_id: str
    kind: str
    scenario: str
    language: Language
    now: str
    setup: tuple[SeedRow, ...]
    spec: WriteSpec
    prompt: str
    facts: Mapping[str, Any] = field(default_factory=dict)


def say(label: str, language: Language, **values: object) -> str:
    """A text of tasks/texts.csv."""
    return load_labels(HERE / "texts.csv").say(label, language, **values)


def gold_report(task: Task) -> str:
    """The report that does exactly what the task wants."""
    return write_report(gold_actions(task.spec), task.spec)


def gold_actions(spec: WriteSpec) -> list[dict[str, Any]]:
    """The actions of the gold report, in the spec's order, as JSON values."""
    actions: list[dict[str, Any]] = []
    for record in spec.records:
        layout = load_layout()
        own = {name: value for name, value in record.identity.items() if layout.owner(record.collection, name) == "policy"}
        action: dict[str, Any] = {"op": record.change, "collection": record.collection}
        if record.change != "delete":
            action["fields"] = {**own, **record.fields}
        if record.change != "create":
            action["id"] = record.row_id
        elif len(spec.records) > 1:
            action["full_url"] = f"urn:uuid:{record.name}"
        actions.append(action)
    return actions


def write_report(actions: Sequence[Mapping[str, Any]], spec: WriteSpec | None = None, **more: Any) -> str:
    """A submitted report as text; with a spec that wants nothing written, with its decision. `more` overrides and adds keys."""
    report: dict[str, Any] = {"actions": list(actions), "submitted": True}
    if spec and spec.decision:
        report |= {"decision": spec.decision.decision, "reason": spec.decision.reasons[0]}
    return encode_json({**report, **more})


def render_prompt(
    language: Language, *, task: str, fields: str, rows: Iterable[SeedRow] = (), policy: str = "", now: str, machine: Mapping[str, Any]
) -> str:
    """The prompt: the task in words, what a record must hold, the rows it is about, the policy, the form of the report."""
    text = (HERE / f"prompt.{language}.md").read_text(encoding="utf-8")
    reasons = "\n".join(f"- {name}: {say(f'reason_{name}', language)}" for name in REASONS)
    shown = "\n".join(f"{row.collection}/{row.row_id} {encode_json(_shown(row))}" for row in rows)
    values = {
        "task": task,
        "fields": fields or say("nothing_listed", language),
        "rows": shown or say("no_rows", language),
        "policy": policy or say("no_policy", language),
        "now": now,
        "reasons": reasons,
        "machine": encode_json(dict(machine)),
    }
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def list_fields(collection: str, fields: Mapping[str, Any], *, slots: Mapping[str, str] | None = None) -> str:
    """Every leaf of a record as `path = JSON`; a path in `slots` shows its words instead of the value."""
    lines = [f"{path} = {(slots or {}).get(path, encode_json(value))}" for path, value in _leaves("", fields)]
    return "\n".join([f"{collection}:", *(f"- {line}" for line in lines)])


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _leaves(f"{path}.{name}" if path else name, each)
    elif isinstance(value, list) and value:
        for i, each in enumerate(value):
            yield from _leaves(f"{path}[{i}]", each)
    else:
        yield path, value


def _shown(row: SeedRow) -> dict[str, Any]:
    layout = load_layout()
    return {name: value for name, value in row.fields.items() if layout.owner(row.collection, name) == "policy"}
