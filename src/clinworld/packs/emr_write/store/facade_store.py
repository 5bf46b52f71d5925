"""A record system that is written to over HTTP: a `Store` whose actions are requests to a facade, read by the oracle as ever.

One plain action is one interaction with its headers; several, or one that other actions refer to, are a bundle.
"""

import http.client
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from clinworld.packs.emr_write.actions import Action, Row
from clinworld.packs.emr_write.store.facade import Facade
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, Reading, Reply, SeedRow
from clinworld.packs.emr_write.store.rows import encode_json
from clinworld.packs.emr_write.store.sqlite import SqliteStore

_METHODS = {"create": "POST", "update": "PATCH", "delete": "DELETE"}
_TIMEOUT_S = 30


class FacadeStore:
    """A `Store` in SQLite behind a facade on this machine. `chart` are the rows that stand before every episode."""

    def __init__(self, chart: Sequence[SeedRow] = (), *, honours_keys: bool = True) -> None:
        self.inner = SqliteStore(chart, honours_keys=honours_keys)
        self.facade = Facade(self.inner)
        self._line = http.client.HTTPConnection(urlsplit(self.facade.url).netloc, timeout=_TIMEOUT_S)

    def begin(self, setup: Sequence[SeedRow] = (), *, now: str) -> None:
        """As the system behind."""
        self.inner.begin(setup, now=now)

    def execute(self, actions: Sequence[Action], *, is_atomic: bool = False) -> tuple[Reply, ...]:
        """Send the actions. Raises OracleUnreadable when the system does not answer."""
        if not actions:
            return ()
        if len(actions) == 1 and not is_atomic and _fits_headers(actions[0]):
            return (self._send_one(actions[0]),)
        entries = [_make_entry(action) for action in actions]
        bundle = {"resourceType": "Bundle", "type": "transaction" if is_atomic else "batch", "entry": entries}
        status, _, value = self._request("POST", "", {}, bundle)
        if status != 200:
            return tuple(Reply(status, None, _diagnose(value)) for _ in actions)
        return tuple(_read_response(entry["response"]) for entry in value["entry"])

    def drain(self, *, most: int = 1000) -> int:
        """As the system behind."""
        return self.inner.drain(most=most)

    def read(self, near: Sequence[tuple[str, Row]] = (), *, is_full: bool = False) -> Reading:
        """As the oracle behind reads; never over HTTP."""
        return self.inner.read(near, is_full=is_full)

    def restore(self) -> None:
        """As the system behind."""
        self.inner.restore()

    def tamper(self, sql: str, values: Sequence[Any] = (), *, is_recorded: bool = True) -> None:
        """As the system behind."""
        self.inner.tamper(sql, values, is_recorded=is_recorded)

    def close(self) -> None:
        """Stop the facade and close the system behind."""
        self._line.close()
        self.facade.close()
        self.inner.close()

    def _send_one(self, action: Action) -> Reply:
        place = f"/{quote(action.collection)}" + (f"/{quote(action.row_id, safe='')}" if action.row_id else "")
        headers = {"Idempotency-Key": action.key, "If-Match": f'W/"{action.if_version}"' if action.if_version is not None else None}
        if action.if_none_exist is not None:
            headers["If-None-Exist"] = urlencode({f"{name}:json": encode_json(value) for name, value in action.if_none_exist.items()})
        sent = {name: text for name, text in headers.items() if text is not None}
        status, told, value = self._request(_METHODS[action.op], place, sent, None if action.op == "delete" else dict(action.fields))
        return Reply(status, told.get("x-row"), _diagnose(value))

    def _request(self, method: str, place: str, headers: Mapping[str, str], value: Any) -> tuple[int, dict[str, str], Any]:
        body = None if value is None else encode_json(value).encode()
        sent = {**headers, "Content-Type": "application/json"}
        try:
            self._line.request(method, urlsplit(self.facade.url).path + place, body=body, headers=sent)
            reply = self._line.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException) as problem:
            self._line.close()
            raise _broken(str(problem)) from None
        if reply.status == 503:
            raise _broken(_diagnose(json.loads(text)))
        return reply.status, {name.lower(): each for name, each in reply.getheaders()}, json.loads(text)


def _fits_headers(action: Action) -> bool:
    """True for a write whose every condition can be said in headers as it is; what cannot goes into the body of a bundle."""
    told = [text for text in (action.key, action.if_version) if text is not None]
    is_plain = all(text.isascii() and text.isprintable() and text == text.strip() for text in told)
    return is_plain and action.full_url is None and action.where is None and action.if_none_exist != {}


def _make_entry(action: Action) -> dict[str, Any]:
    place = action.collection + (f"/{quote(action.row_id, safe='')}" if action.row_id else "")
    request: dict[str, Any] = {"method": _METHODS[action.op], "url": place}
    extra = {"ifMatch": f'W/"{action.if_version}"' if action.if_version is not None else None, "idempotencyKey": action.key}
    request |= {name: text for name, text in extra.items() if text is not None}
    if action.if_none_exist is not None:
        request["ifNoneExist"] = dict(action.if_none_exist)
    where = action.where if action.where is None or action.where == "*" else dict(action.where)
    rest = {"fullUrl": action.full_url, "where": where}
    return {"request": request, "resource": dict(action.fields), **{name: each for name, each in rest.items() if each is not None}}


def _read_response(response: Mapping[str, Any]) -> Reply:
    row_id = response.get("location", "").partition("/")[2] or None
    return Reply(int(response["status"]), row_id, _diagnose(response.get("outcome")))


def _diagnose(value: Any) -> str:
    issues = value.get("issue") if isinstance(value, dict) else None
    return str(issues[0]["diagnostics"]) if issues else ""


def _broken(said: str) -> OracleUnreadable:
    return OracleUnreadable("record system", f"cannot be used ({said})", do="Repair it; the episode is unscored.")
