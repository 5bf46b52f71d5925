"""A FHIR-shaped HTTP face of a record system on this machine: read, search, create, conditional create, update, delete, bundles, history.

Every write goes through the store behind it, so what is kept, and the verdict on it, is the same. A client sees nothing but HTTP. It is no
FHIR server: resources are rows of this system, search is by equal keys, and PATCH replaces the elements it names.
"""

import re
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from clinworld.packs.emr_write.actions import Action, Op, Row
from clinworld.packs.emr_write.store.layout import Layout, load_layout
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, Reading, Reply, Store
from clinworld.packs.emr_write.store.rows import encode_json, is_live
from clinworld.packs.emr_write.strict_json import BadJson, is_whole, read_value

HOST, BASE = "127.0.0.1", "/fhir"
MAX_BODY, MAX_ENTRIES, MAX_FOUND = 4 * 1024 * 1024, 500, 100
_METHODS: Mapping[str, Op] = {"POST": "create", "PATCH": "update", "PUT": "update", "DELETE": "delete"}
_LENGTH = re.compile("[0-9]{1,18}")
Answer = tuple[int, dict[str, str], Any]  # status, headers, body
_JSON = "application/fhir+json; charset=utf-8"


class Unacceptable(Exception):
    """A request that is refused before the record system sees it."""

    def __init__(self, status: int, said: str) -> None:
        self.status = status
        super().__init__(said)


class Facade:
    """The HTTP server over one store, one request at a time. `url` is its base address; `close` stops it and leaves the store open."""

    def __init__(self, store: Store, *, layout: Layout | None = None) -> None:
        self.store, self.layout = store, layout or load_layout()
        self._lock = threading.Lock()
        facade = self

        class Handler(_Handler):
            """The requests of this facade."""

            desk = facade

        self._server = _Server((HOST, 0), Handler)
        self.url = f"http://{HOST}:{self._server.server_address[1]}{BASE}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Status, headers and body of one request."""
        with self._lock:
            try:
                return self._route(method, target, headers, body)
            except Unacceptable as problem:
                return problem.status, {}, tell_outcome(problem.status, str(problem))
            except OracleUnreadable as problem:
                return 503, {}, tell_outcome(503, problem.found)

    def _route(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        split = _split(target)
        if split.path != BASE and not split.path.startswith(BASE + "/"):
            raise Unacceptable(404, f"no {split.path}")
        steps = [unquote(step) for step in split.path.removeprefix(BASE).split("/") if step]
        query = dict(parse_qsl(split.query, keep_blank_values=True))
        if not steps:
            if method != "POST":
                raise Unacceptable(405, "a bundle is posted")
            return self._do_bundle(read_body(body))
        if steps[0] not in self.layout.writable():
            raise Unacceptable(404, f"no type {steps[0]}; {', '.join(self.layout.writable())}")
        if method == "GET":
            return self._get(steps, query)
        if method not in _METHODS or len(steps) > 2 or (method == "POST") != (len(steps) == 1):
            raise Unacceptable(405, f"{method} of {split.path}")
        value = {} if method == "DELETE" else read_body(body)
        action = make_action(method, steps, value, headers)
        if method == "PUT":
            action = self._replace_whole(action)
        reply = self.store.execute((action,))[0]
        return self._show_reply(action, reply)

    def _do_bundle(self, bundle: Any) -> Answer:
        if not isinstance(bundle, dict) or bundle.get("type") not in ("transaction", "batch") or not isinstance(bundle.get("entry"), list):
            raise Unacceptable(400, "a transaction or batch bundle with entries is expected")
        if len(bundle["entry"]) > MAX_ENTRIES:
            raise Unacceptable(413, f"more than {MAX_ENTRIES} entries")
        actions = [self._read_entry(entry) for entry in bundle["entry"]]
        is_atomic = bundle["type"] == "transaction"
        replies = self.store.execute(actions, is_atomic=is_atomic)
        if is_atomic and any(reply.is_refused for reply in replies):
            first = next(reply for reply in replies if reply.is_refused)
            return first.status, {}, tell_outcome(first.status, first.said)
        pairs = zip(actions, replies, strict=True)
        entries = [{"response": {"status": str(reply.status), **_place(action, reply), **_said(reply)}} for action, reply in pairs]
        return 200, {}, {"resourceType": "Bundle", "type": f"{bundle['type']}-response", "entry": entries}

    def _read_entry(self, entry: Any) -> Action:
        request = entry.get("request") if isinstance(entry, dict) else None
        if not isinstance(request, dict) or not isinstance(request.get("url"), str) or request.get("method") not in _METHODS:
            raise Unacceptable(400, "an entry has a request with method and url")
        split = _split(request["url"])
        steps = [unquote(step) for step in split.path.split("/") if step]
        if not 1 <= len(steps) <= 2 or steps[0] not in self.layout.writable():
            raise Unacceptable(400, f"no place {request['url']!r}")
        headers = {"if-match": request.get("ifMatch"), "idempotency-key": request.get("idempotencyKey")}
        known = {name: each for name, each in headers.items() if isinstance(each, str)}
        action = make_action(request["method"], steps, entry.get("resource", {}), known)
        full_url, where, absent = entry.get("fullUrl"), entry.get("where"), request.get("ifNoneExist")
        if where is not None and where != "*" and not isinstance(where, dict):
            raise Unacceptable(400, 'where: an object or "*"')
        if absent is not None and not isinstance(absent, dict):
            raise Unacceptable(400, "ifNoneExist: an object")
        return Action(
            action.op,
            action.collection,
            action.fields,
            action.row_id,
            full_url if isinstance(full_url, str) else None,
            where,
            action.key,
            action.if_version,
            action.if_none_exist if absent is None else absent,
        )

    def _replace_whole(self, action: Action) -> Action:
        """PUT: elements that are not sent are taken out."""
        row = self._find(action.collection, str(action.row_id))
        if row is None:
            raise Unacceptable(404, f"no {action.collection}/{action.row_id}; the server gives ids")
        owned = {name for name in row if self.layout.owner(action.collection, name) != "policy"}
        gone: dict[str, Any] = {name: None for name in row if name not in owned and name not in action.fields}
        fields = {name: value for name, value in action.fields.items() if name != "id"}
        return Action("update", action.collection, {**gone, **fields}, action.row_id, key=action.key, if_version=action.if_version)

    def _get(self, steps: list[str], query: Mapping[str, str]) -> Answer:
        collection = steps[0]
        if len(steps) == 1:
            return self._search(collection, query)
        row = self._find(collection, steps[1])
        if len(steps) == 3 and steps[2] == "_history":
            return self._show_history(collection, steps[1])
        if len(steps) > 2:
            raise Unacceptable(404, "no such place")
        if row is None:
            raise Unacceptable(404, f"no {collection}/{steps[1]}")
        if not is_live(row):
            raise Unacceptable(410, f"{collection}/{steps[1]} was deleted")
        return 200, {"ETag": f'W/"{row["version"]}"'}, show_resource(collection, row)

    def _search(self, collection: str, query: Mapping[str, str]) -> Answer:
        columns = self.layout.fields[collection]
        if not query or any(name not in columns or columns[name].kind != "text" for name in query):
            raise Unacceptable(400, "search is by equal text elements of the type, at least one")
        rows = self._find_rows(self.store.read([(collection, query)]), collection, query)
        entries = [{"resource": show_resource(collection, row)} for row in rows[:MAX_FOUND]]
        return 200, {}, {"resourceType": "Bundle", "type": "searchset", "total": len(rows), "entry": entries}

    def _show_history(self, collection: str, row_id: str) -> Answer:
        """Every version since the episode began and the one before it, newest first."""
        reading = self.store.read([(collection, {"id": row_id})])
        lines = [entry for entry in reading.journal if (entry.collection, entry.row_id) == (collection, row_id)]
        states: list[Row | None] = [lines[0].before, *(line.after for line in lines)] if lines else [_first(reading, collection)]
        versions = [show_resource(collection, state) for state in reversed(states) if state is not None]
        if not versions:
            raise Unacceptable(404, f"no {collection}/{row_id}")
        entries = [{"resource": version} for version in versions]
        return 200, {}, {"resourceType": "Bundle", "type": "history", "total": len(entries), "entry": entries}

    def _find(self, collection: str, row_id: str) -> Row | None:
        """A row, deleted ones of this episode included."""
        reading = self.store.read([(collection, {"id": row_id})])
        changed = [each.after for each in reading.changes if (each.collection, each.row_id) == (collection, row_id)]
        return changed[0] if changed else _first(reading, collection)

    def _find_rows(self, reading: Reading, collection: str, where: Mapping[str, str]) -> list[Row]:
        rows = [row for name, row in reading.near if name == collection]
        changed = [each.after for each in reading.changes if each.collection == collection and is_live(each.after)]
        rows += [row for row in changed if row is not None and all(row.get(name) == value for name, value in where.items())]
        return sorted(rows, key=lambda row: str(row["id"]))

    def _show_reply(self, action: Action, reply: Reply) -> Answer:
        if reply.is_refused:
            return reply.status, {}, tell_outcome(reply.status, reply.said)
        row = self._find(action.collection, str(reply.row_id))
        headers = {"Location": f"{self.url}/{action.collection}/{reply.row_id}"} if reply.status == 201 else {}
        if row is None or not is_live(row):
            return reply.status, {**headers, "X-Row": str(reply.row_id)}, tell_outcome(reply.status, reply.said)
        return reply.status, {**headers, "X-Row": str(reply.row_id), "ETag": f'W/"{row["version"]}"'}, show_resource(action.collection, row)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    desk: Facade
    protocol_version = "HTTP/1.1"
    timeout = 30

    def _serve(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not _LENGTH.fullmatch(length) or int(length) > MAX_BODY:
            self.close_connection = True
            answered: Answer = (413, {}, tell_outcome(413, f"more than {MAX_BODY:,} bytes"))
        else:
            sent = {name.lower(): text for name, text in self.headers.items()}
            answered = self.desk.answer(self.command, self.path, sent, self.rfile.read(int(length)))
        status, headers, value = answered
        body = encode_json(value).encode("utf-8", "replace")
        self.send_response(status)
        for name, text in {**headers, "Content-Type": _JSON, "Content-Length": str(len(body))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def make_action(method: str, steps: Sequence[str], fields: Any, headers: Mapping[str, str]) -> Action:
    """The action of one interaction. Raises Unacceptable for one that names no row or whose resource is no object."""
    if not isinstance(fields, dict):
        raise Unacceptable(400, "a resource is an object")
    op, row_id = _METHODS[method], steps[1] if len(steps) == 2 else None
    kind = fields.get("resourceType", steps[0])
    if kind != steps[0]:
        raise Unacceptable(400, f"a resource of type {kind!r} at {steps[0]}")
    fields = {name: value for name, value in fields.items() if name != "resourceType"}
    version = headers.get("if-match")
    if version is not None:
        version = version.removeprefix("W/")
        version = version[1:-1] if len(version) > 1 and version[0] == version[-1] == '"' else version
    absent = headers.get("if-none-exist")
    where = _read_condition(absent) if absent is not None else None
    return Action(op, steps[0], fields, row_id, key=headers.get("idempotency-key"), if_version=version, if_none_exist=where)


def _read_condition(text: str) -> dict[str, Any]:
    """Equal values by element: as they stand, or as JSON in the form name:json=…"""
    found: dict[str, Any] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        if name.endswith(":json"):
            found[name.removesuffix(":json")] = read_body(value.encode())
        else:
            found[name] = value
    if not found:
        raise Unacceptable(400, "If-None-Exist: at least one element")
    return found


def _split(target: str) -> SplitResult:
    """The parts of an address. Raises Unacceptable for one that is none, or names what no database can hold."""
    try:
        split = urlsplit(target)
    except ValueError as problem:
        raise Unacceptable(400, f"no address ({problem})") from None
    if not is_whole(unquote(target)):
        raise Unacceptable(400, "half a character or a NUL")
    return split


def read_body(body: bytes) -> Any:
    """JSON as a report's is read: strict, bounded, with exact numbers. Raises Unacceptable for anything else."""
    try:
        return read_value(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise Unacceptable(400, "not UTF-8") from None
    except BadJson as bad:
        raise Unacceptable(400, str(bad)) from None


def show_resource(collection: str, row: Row) -> dict[str, Any]:
    """A row as a resource: its own elements, and what the system adds as `meta`."""
    hidden = ("version", "recordedAt", "deleted")
    kept = {name: value for name, value in row.items() if name not in hidden}
    meta = {"versionId": row["version"], "lastUpdated": row["recordedAt"]}
    deleted = {"tag": [{"code": "deleted"}]} if not is_live(row) else {}
    return {"resourceType": collection, **kept, "meta": {**meta, **deleted}}


def tell_outcome(status: int, said: str) -> dict[str, Any]:
    """An OperationOutcome."""
    severity = "error" if status >= 400 else "information"
    return {"resourceType": "OperationOutcome", "issue": [{"severity": severity, "code": "processing", "diagnostics": said}]}


def _first(reading: Reading, collection: str) -> Row | None:
    return next((row for name, row in reading.near if name == collection), None)


def _place(action: Action, reply: Reply) -> dict[str, str]:
    return {"location": f"{action.collection}/{reply.row_id}"} if reply.row_id else {}


def _said(reply: Reply) -> dict[str, Any]:
    return {"outcome": tell_outcome(reply.status, reply.said)} if reply.said else {}
