"""An OpenAI-shaped endpoint on the loopback interface that answers with scripted policies: no model, no key, no network.

The model name chooses the case (`scripted/dup`). It answers whole or as a stream, in words or, where tools are offered, by tool calls.
It lives for a bounded time and never opens a port to another machine.
"""

import json
import re
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from clinworld.core.errors import allowed_values, nearest_match
from clinworld.serve.policy.script import CASES, Call, choose_call, write_reply

HOST = "127.0.0.1"
PREFIX = "scripted/"
MAX_BODY = 8 * 1024 * 1024
_TIMEOUT_S = 30
_LENGTH = re.compile("[0-9]{1,18}")
_CHARACTERS_PER_TOKEN = 4  # a stand-in for a tokenizer: usage is stated, never billed


class Unanswerable(Exception):
    """A request that gets an error, with its HTTP status."""

    def __init__(self, status: int, said: str) -> None:
        self.status = status
        super().__init__(said)


class PolicyServer(ThreadingHTTPServer):
    """The endpoint; `port` 0 takes a free one. `answered` counts completions by model."""

    daemon_threads = True
    request_queue_size = 256  # a run opens many connections at once; a full queue refuses them

    def __init__(self, port: int = 0) -> None:
        self.answered: dict[str, int] = {}
        self._lock = threading.Lock()
        super().__init__((HOST, port), _Handler)

    @property
    def url(self) -> str:
        """The base address a client is given."""
        return f"http://{HOST}:{self.server_address[1]}/v1"

    def count(self, model: str) -> None:
        """One more completion."""
        with self._lock:
            self.answered[model] = self.answered.get(model, 0) + 1

    def serve_for(self, seconds: float) -> None:
        """Serve until the time is over or `shutdown` is called from another thread."""
        timer = threading.Timer(seconds, self.shutdown)
        timer.daemon = True
        timer.start()
        try:
            self.serve_forever(poll_interval=0.05)
        finally:
            timer.cancel()
            self.server_close()


def answer(request: Any) -> dict[str, Any]:
    """The completion of one request, as the JSON object of an answer that is not streamed. Raises Unanswerable."""
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        raise Unanswerable(400, "messages: a list is expected")
    model = request.get("model")
    case = model.removeprefix(PREFIX) if isinstance(model, str) and model.startswith(PREFIX) else None
    if case not in CASES:
        names = [PREFIX + each for each in CASES]
        nearest = nearest_match(str(model), names)
        raise Unanswerable(404, f"model: {model!r}; {allowed_values(names)}" + (f"; nearest is {nearest}" if nearest else ""))
    messages = [message for message in request["messages"] if isinstance(message, dict)]
    message, reason = _reply(case, messages, _tool_names(request.get("tools")))
    sent = sum(len(json.dumps(each, ensure_ascii=False)) for each in messages) // _CHARACTERS_PER_TOKEN
    made = max(1, len(json.dumps(message, ensure_ascii=False)) // _CHARACTERS_PER_TOKEN)
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made},
    }


def _tool_names(tools: Any) -> tuple[str, ...]:
    functions = [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return tuple(each["name"] for each in functions if isinstance(each, dict) and isinstance(each.get("name"), str))


def _reply(case: str, messages: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> tuple[dict[str, Any], str]:
    chosen = choose_call(case, messages) if tools else write_reply(case, messages)
    if isinstance(chosen, Call):
        # Servers of tools put a name before their tools' names.
        name = next((each for each in tools if each == chosen.tool or each.endswith(f"_{chosen.tool}")), None)
        if name is None:
            raise Unanswerable(400, f"tools: no {chosen.tool}; {allowed_values(tools)}")
        function = {"name": name, "arguments": json.dumps(dict(chosen.arguments), ensure_ascii=False)}
        call = {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    return {"role": "assistant", "content": chosen}, "stop"


def stream(completion: Mapping[str, Any]) -> Iterator[str]:
    """The same completion as server-sent events: the message in parts, the reason, the usage, and the end mark."""
    head = {"id": completion["id"], "object": "chat.completion.chunk", "created": 0, "model": completion["model"]}
    choice = completion["choices"][0]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if message.get("tool_calls"):
        deltas.append({"tool_calls": [{"index": i, **call} for i, call in enumerate(message["tool_calls"])]})
    else:
        text = message["content"]
        deltas += [{"content": part} for part in (text[: len(text) // 2], text[len(text) // 2 :]) if part]
    for delta in deltas:
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    yield _event({**head, "choices": [], "usage": completion["usage"]})
    yield "data: [DONE]\n\n"


def _event(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


class _Handler(BaseHTTPRequestHandler):
    server: PolicyServer
    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT_S

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/v1/models":
            self._send_error(404, f"no {self.path}; allowed: /v1/models, /v1/chat/completions")
            return
        models = [{"id": PREFIX + case, "object": "model", "created": 0, "owned_by": "clinworld"} for case in CASES]
        self._send_json(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        try:
            request = self._read_body()
            if self.path.partition("?")[0] != "/v1/chat/completions":
                raise Unanswerable(404, f"no {self.path}; allowed: /v1/models, /v1/chat/completions")
            completion = answer(request)
        except Unanswerable as problem:
            self._send_error(problem.status, str(problem))
            return
        self.server.count(completion["model"])
        if request.get("stream"):
            self._send_stream(completion)
        else:
            self._send_json(200, completion)

    def _read_body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not _LENGTH.fullmatch(length):
            raise Unanswerable(411, "a Content-Length is expected")
        if int(length) > MAX_BODY:
            self.close_connection = True
            raise Unanswerable(413, f"more than {MAX_BODY:,} bytes")
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Unanswerable(400, "the body is not JSON") from None

    def _send_json(self, status: int, value: Mapping[str, Any]) -> None:
        body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_error(self, status: int, said: str) -> None:
        self._send_json(status, {"error": {"message": said, "type": "invalid_request_error", "code": status}})

    def _send_stream(self, completion: Mapping[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in stream(completion):
            self.wfile.write(event.encode("utf-8", "replace"))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a scripted policy has nothing to tell."""
