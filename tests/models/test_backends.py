import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from clinworld.core.errors import ModelFailure
from clinworld.models.backend import Backend, Message, Reply, Request
from clinworld.models.control import ControlBackend
from clinworld.models.function_agent import FunctionAgent, load_function_agent
from clinworld.models.replay import load_replay

REQUEST = Request("a1", 84, 0, "en", (Message("system", "rules"), Message("user", "question")), settings={"repeat": 0})


def ask(backend: Backend) -> Reply:
    return asyncio.run(backend.send(REQUEST))


async def later(request: Request) -> str:
    return "later"


def returns_awaitable(request: Request) -> Any:
    return later(request)


class Called:
    def __call__(self, request: Request) -> Reply:
        return Reply("called", finish_reason="length")


@pytest.mark.parametrize(
    ("function", "takes_text", "text"),
    [
        (lambda asked: asked, True, "question"),
        (lambda asked: asked.item_id, False, "a1"),
        (later, False, "later"),
        (returns_awaitable, False, "later"),
        (Called(), False, "called"),
    ],
)
def test_functions_of_text_or_request_async_or_not_are_agents(function: Callable[..., Any], takes_text: bool, text: str):
    assert ask(FunctionAgent("f", function, takes_text)).text == text


@pytest.mark.parametrize("function", [lambda asked: None, lambda asked: b"bytes", lambda asked: 1 / 0])
def test_what_is_no_reply_is_a_model_failure_that_says_what_came(function: Callable[..., Any]):
    with pytest.raises(ModelFailure, match=r"NoneType|bytes|ZeroDivisionError") as raised:
        ask(FunctionAgent("mine:f", function, False))
    assert "mine:f" in str(raised.value)


def test_a_control_answers_without_an_event_loop():
    work = ControlBackend("c", lambda request: request.item_id).send(REQUEST)
    with pytest.raises(StopIteration) as finished:
        work.send(None)
    assert finished.value.value == Reply("a1")


@pytest.mark.parametrize(
    ("signature", "takes_text"),
    [
        ("prompt", True),
        ("text: str", True),
        ("request", False),
        ("request, *, temperature=0", False),
        ("x, y=1", False),
        ("p: 'str'", True),
    ],
)
def test_the_parameter_decides_between_prompt_and_request(tmp_path, monkeypatch, signature, takes_text):
    name = f"agent_{abs(hash(signature))}"
    (tmp_path / f"{name}.py").write_text(f"def f({signature}):\n    return ''\n")
    monkeypatch.chdir(tmp_path)
    assert load_function_agent(f"{name}:f").takes_text is takes_text


def test_an_empty_recording_names_no_agent(tmp_path):
    (tmp_path / "responses.jsonl").write_text("")
    with pytest.raises(Exception, match="0 agents"):
        load_replay(tmp_path / "responses.jsonl")
