"""One conversation on a live record system: tools that write at once, and the verdict when it is over.

The arguments of every call, of a search and of `finish` too, go through the pack's own strict reader, so a tool takes nothing that a
report may not hold, and nothing a policy sends can make a reading fail. A refused call changes nothing and is counted.
Writes of one conversation are in one store, and no other conversation is in it meanwhile.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from clinworld.core.text import Language, load_labels
from clinworld.packs.emr_write.checker.check import check_write
from clinworld.packs.emr_write.checker.verdict import Verdict
from clinworld.packs.emr_write.report import MAX_WORD, Rejection, Report, parse_action, parse_object, parse_report
from clinworld.packs.emr_write.store.layout import load_layout
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, Reading, Reply, Store
from clinworld.packs.emr_write.store.references import place_references
from clinworld.packs.emr_write.store.rows import encode_json, is_live
from clinworld.packs.emr_write.tasks.task import REASONS, Task, say

HERE = Path(__file__).parent
WRITES = {"create_row": "create", "update_row": "update", "delete_row": "delete"}
KEYS = ("id", "patientId", "encounterId", "patient_id", "pubpid", "identifier")
MOST_ROWS, MOST_ARGUMENTS = 20, 32 * 1024
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "find_rows": ("collection!", "where!"),
    "create_row": ("collection!", "fields!", "key", "full_url", "if_none_exist"),
    "update_row": ("collection!", "id!", "fields!", "key", "if_version"),
    "delete_row": ("collection!", "id!", "key", "if_version"),
    "finish": ("decision", "reason"),
}
_OBJECTS = ("where", "fields", "if_none_exist")


def _say(label: str, language: Language) -> str:
    return load_labels(HERE / "texts.csv").say(label, language)


@lru_cache(maxsize=2)
def list_tools(language: Language) -> tuple[dict[str, Any], ...]:
    """The tools as JSON schema: name, description, parameters."""
    tools = []
    for name, listed in _ARGUMENTS.items():
        properties: dict[str, Any] = {}
        for argument in (each.removesuffix("!") for each in listed):
            kind = "object" if argument in _OBJECTS else "string"
            properties[argument] = {"type": kind, "description": _say(argument, language)}
            if argument == "collection":
                properties[argument]["enum"] = list(load_layout().writable())
            elif argument == "reason":
                properties[argument]["enum"] = list(REASONS)
            elif argument == "decision":
                properties[argument]["enum"] = ["no_write"]
        needed = [each.removesuffix("!") for each in listed if each.endswith("!")]
        parameters = {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}
        tools.append({"name": name, "description": _say(name, language), "parameters": parameters})
    return tuple(tools)


def render_tool_prompt(task: Task) -> str:
    """The task's prompt with its last section, the form of a report, replaced by how to act with tools."""
    head = task.prompt.rpartition("\n# ")[0]
    machine = task.prompt.rstrip().splitlines()[-1]
    reasons = [f"- {name}: {say(f'reason_{name}', task.language)}" for name in REASONS]
    how = [_say("heading", task.language), _say("how", task.language), _say("nothing", task.language), *reasons]
    return "\n".join([head, "", *how, "", machine, ""])


class LiveSession:
    """One conversation: `system` is the record system as the policy meets it, `store` the same without any fault put before it."""

    def __init__(self, store: Store, system: Store, task: Task) -> None:
        self.store, self.system, self.task = store, system, task
        self.is_finished = self.is_over = False
        self.replies: list[Reply] = []
        self._said: Mapping[str, str] = {}
        self._urls: dict[str, str] = {}
        self._problem: OracleUnreadable | None = None
        try:
            system.begin(task.setup, now=task.now)
        except OracleUnreadable as problem:
            self._problem = problem

    def call(self, name: object, arguments: object) -> str:
        """Do one tool call and say what came of it, as JSON. Takes anything and never raises."""
        if self.is_finished or self.is_over:
            return _tell(409, said=_say("ended", self.task.language))
        if self._problem:
            return _tell(503, said=self._problem.found)
        if not isinstance(name, str) or name not in _ARGUMENTS:
            return self._refuse(404, f"{str(name)[:40]!r}: {', '.join(_ARGUMENTS)}")
        if isinstance(arguments, str) and len(arguments) > MOST_ARGUMENTS:
            return self._refuse(413, f"more than {MOST_ARGUMENTS:,} characters")
        value = parse_object("{}" if name == "finish" and arguments == "" else arguments)
        if isinstance(value, Rejection):
            return self._refuse(400, str(value))
        known = [each.removesuffix("!") for each in _ARGUMENTS[name]]
        for each in value:
            if each not in known:
                return self._refuse(400, f"{each[:40]!r}: {', '.join(known)}")
        try:
            if name in WRITES:
                return self._write(name, value)
            return self._finish(value) if name == "finish" else self._find(value)
        except OracleUnreadable as problem:
            self._problem = problem
            return _tell(503, said=problem.found)

    def judge(self, final_text: str = "") -> Verdict:
        """End the conversation, read the record system and put it back. `final_text` is searched for offered evidence only."""
        self.is_over = True
        reading: Reading | OracleUnreadable
        try:
            if self._problem:
                raise self._problem
            self.system.drain()
            reading = self.system.read(self.task.spec.near())
        except OracleUnreadable as problem:
            reading = problem
        finally:
            self.system.restore()
        return check_write(self.task.spec, reading, self._report(final_text), self.replies)

    def abandon(self) -> None:
        """Put the record system back without a verdict."""
        if not self.is_over:
            self.is_over = True
            self.system.restore()

    def _report(self, final_text: str) -> Report | Rejection:
        """What was done in the form of a report: its actions are on the record system already."""
        claims = parse_report(final_text).claims
        decision = self._said.get("decision")
        if decision is not None and any(not reply.is_refused for reply in self.replies):
            return Rejection("decision", f"{decision!r} beside writes", "either writes or a decision to write nothing", claims)
        return Report((), self.is_finished, decision, self._said.get("reason"), claims)

    def _write(self, name: str, value: Mapping[str, Any]) -> str:
        action = parse_action({"op": WRITES[name], **value})
        if isinstance(action, Rejection):
            return self._refuse(400, str(action))
        reply = self.system.execute([replace(action, fields=place_references(dict(action.fields), self._urls))])[0]
        self.replies.append(reply)
        if action.full_url and reply.row_id and not reply.is_refused:
            self._urls[action.full_url] = f"{action.collection}/{reply.row_id}"
        return _tell(reply.status, id=reply.row_id, said=reply.said)

    def _finish(self, value: Mapping[str, Any]) -> str:
        if not all(isinstance(each, str) and len(each) <= MAX_WORD for each in value.values()):
            return self._refuse(400, f"finish: decision and reason, each a text of at most {MAX_WORD} characters")
        self.is_finished, self._said = True, value
        return _tell(200, said=_say("ended", self.task.language))

    def _find(self, value: Mapping[str, Any]) -> str:
        layout = load_layout()
        collection, where = value.get("collection"), value.get("where")
        if not isinstance(collection, str) or collection not in layout.writable() or not isinstance(where, dict) or not where:
            return self._refuse(400, f"collection: {', '.join(layout.writable())}; where: at least one of {', '.join(KEYS)}")
        known = [name for name in KEYS if name in layout.fields[collection]]
        if any(name not in known or not isinstance(each, str) for name, each in where.items()):
            return self._refuse(400, f"where: texts of {', '.join(known)}")
        try:
            reading = self.store.read([(collection, where)])
        except OracleUnreadable as problem:  # what a policy looks for says nothing about whether the oracle can read
            return self._refuse(503, problem.found)
        rows = [row for name, row in reading.near if name == collection]
        changed = [each.after for each in reading.changes if each.collection == collection and is_live(each.after)]
        rows += [row for row in changed if row is not None and all(row.get(name) == each for name, each in where.items())]
        rows.sort(key=lambda row: str(row["id"]))
        return encode_json({"status": 200, "found": len(rows), "rows": [dict(row) for row in rows[:MOST_ROWS]]})

    def _refuse(self, status: int, said: str) -> str:
        self.replies.append(Reply(status, None, said))
        return _tell(status, said=said)


def _tell(status: int, **more: Any) -> str:
    return encode_json({"status": status, **{name: value for name, value in more.items() if value}})
