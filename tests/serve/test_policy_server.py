"""The scripted policy server: what each case does with a prompt it has never seen, and how it speaks to a client."""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from clinworld.cli.main import main
from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.store.chart import draw_bulk
from clinworld.packs.emr_write.store.sqlite import SqliteStore
from clinworld.packs.emr_write.tasks.decisions import DECISIONS, draw_decision
from clinworld.packs.emr_write.tasks.records import KINDS, draw_record_task
from clinworld.packs.emr_write.tasks.single_create import (
    ALSO,
    STORE_KINDS,
    TaskArguments,
    draw_single_creates,
    scripted_report,
)
from clinworld.packs.emr_write.tasks.single_create import CASES as LABELLED
from clinworld.serve.policy.script import CASES, Call, choose_call, write_reply
from clinworld.serve.policy.server import PolicyServer

TOOLS = [{"type": "function", "function": {"name": f"emr_{name}"}} for name in ("find_rows", "create_row", "update_row", "finish")]


def ask(prompt):
    return [{"role": "system", "content": "Answer."}, {"role": "user", "content": prompt}]


@pytest.fixture(scope="module")
def store():
    return SqliteStore(draw_bulk(seed=1, rows=100))


@pytest.fixture(scope="module")
def server():
    made = PolicyServer()
    thread = threading.Thread(target=made.serve_for, args=(60,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    thread.join()


def send(server, method, path, body=None, headers=None):
    line = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    try:
        text = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        line.request(method, path, body=text, headers=headers or {})
        reply = line.getresponse()
        return reply.status, reply.read().decode()
    finally:
        line.close()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("case", ["control", *LABELLED, *ALSO])
def test_a_case_read_from_the_prompt_alone_is_the_same_as_the_case_made_from_the_task(case, language, store):
    for task in draw_single_creates(TaskArguments(envs=STORE_KINDS, num_tasks=2, seed=5), language=language):
        made, scripted = json.loads(write_reply(case, ask(task.prompt))), json.loads(scripted_report(case, task))
        if case == "extra":  # the value it adds may be in another language
            del made["actions"][0]["fields"][task.facts["mischief"].extra[0]]
            del scripted["actions"][0]["fields"][task.facts["mischief"].extra[0]]
        assert made == scripted
        assert run_report(store, task, write_reply(case, ask(task.prompt))).reward == (1.0 if case == "control" else 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_control_writes_every_record_that_is_listed_element_by_element(kind, store):
    task = draw_record_task(kind, Rng(4), "listed", load_knowledge(), "zh")
    assert run_report(store, task, write_reply("control", ask(task.prompt))).reward == 1.0
    assert run_report(store, task, write_reply("noop", ask(task.prompt))).reward == 0.0


@pytest.mark.parametrize("kind", DECISIONS)
def test_the_control_decides_nothing_and_is_never_paid_for_a_decision_it_did_not_take(kind, store):
    task = draw_decision(kind, Rng(4), "undecided", "en")
    assert json.loads(write_reply("control", ask(task.prompt)))["actions"] == []
    assert run_report(store, task, write_reply("control", ask(task.prompt))).reward == 0.0


def test_a_case_without_a_prompt_it_can_read_does_nothing():
    for case in CASES:
        for messages in ([], [{"role": "user"}], ask("{"), ask('{"task":"x"}'), [{"role": "user", "content": [{"type": "text"}]}]):
            assert json.loads(write_reply(case, messages))["actions"] == []


def test_with_tools_the_writes_come_one_a_turn_and_finish_comes_last():
    prompt = draw_single_creates(TaskArguments())[0].prompt
    messages, seen = ask(prompt), []
    while isinstance(call := choose_call("dup", messages), Call):
        seen.append(call.tool)
        messages.append({"role": "assistant", "tool_calls": [{}]})
    assert seen == ["create_row", "create_row", "finish"] and call == "Done."
    assert [choose_call(case, ask(prompt)) for case in ("noop",)] == [Call("finish", {})]
    assert all(isinstance(choose_call(case, ask(prompt)), str) for case in ("unsubmit", "claim", "screen_only"))


def test_models_are_listed_and_an_unknown_one_is_refused_with_the_nearest(server):
    status, text = send(server, "GET", "/v1/models")
    assert status == 200 and [each["id"] for each in json.loads(text)["data"]] == [f"scripted/{case}" for case in CASES]
    status, text = send(server, "POST", "/v1/chat/completions", {"model": "scripted/dupe", "messages": []})
    assert status == 404 and "nearest is scripted/dup" in json.loads(text)["error"]["message"]


def test_a_stream_carries_the_same_message_the_reason_the_usage_and_an_end(server):
    request = {"model": "scripted/control", "messages": ask(draw_single_creates(TaskArguments())[0].prompt)}
    for tools in ([], TOOLS):
        _, whole = send(server, "POST", "/v1/chat/completions", {**request, "tools": tools})
        choice = json.loads(whole)["choices"][0]
        status, text = send(server, "POST", "/v1/chat/completions", {**request, "tools": tools, "stream": True})
        events = [event.removeprefix("data: ") for event in text.split("\n\n") if event]
        assert status == 200 and events.pop() == "[DONE]"
        chunks = [json.loads(event) for event in events]
        assert chunks.pop()["usage"] == json.loads(whole)["usage"]
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        assert chunks[-1]["choices"][0]["finish_reason"] == choice["finish_reason"] == ("tool_calls" if tools else "stop")
        assert "".join(delta.get("content") or "" for delta in deltas) == (choice["message"]["content"] or "")
        calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", [])]
        assert calls == [call["function"] for call in choice["message"].get("tool_calls", [])]
        assert [call["name"] for call in calls] == (["emr_create_row"] if tools else [])


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/nothing", None, 404),
        ("POST", "/v1/completions", {"model": "scripted/dup", "messages": []}, 404),
        ("POST", "/v1/chat/completions", "{", 400),
        ("POST", "/v1/chat/completions", "[" * 100_000, 400),
        ("POST", "/v1/chat/completions", {"model": "scripted/dup"}, 400),
        ("POST", "/v1/chat/completions", {"model": 3, "messages": []}, 404),
        ("POST", "/v1/chat/completions", {"model": "scripted/noop", "messages": [], "tools": [{"function": {"name": "other"}}]}, 400),
    ],
)
def test_a_request_it_cannot_answer_gets_an_error_and_the_server_goes_on(server, method, path, body, status):
    found, text = send(server, method, path, body)
    assert found == status and json.loads(text)["error"]["message"]
    assert send(server, "GET", "/v1/models")[0] == 200


@pytest.mark.parametrize("length", ["9" * 5000, "\u00b2", "-1", "1e3", "+1"])
def test_a_length_that_is_no_plain_number_is_refused(server, length):
    assert send(server, "POST", "/v1/chat/completions", "{}", {"Content-Length": length})[0] == 411


def test_a_body_that_is_too_large_is_refused_unread(server):
    assert send(server, "POST", "/v1/chat/completions", "{}", {"Content-Length": str(10**9)})[0] == 413


def test_many_clients_at_once_are_all_answered(server):
    request = {"model": "scripted/noop", "messages": []}
    with ThreadPoolExecutor(40) as pool:
        found = list(pool.map(lambda _: send(server, "POST", "/v1/chat/completions", request)[0], range(80)))
    assert found == [200] * 80 and server.answered["scripted/noop"] >= 80


def test_the_port_is_open_to_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1" and server.url.startswith("http://127.0.0.1:")


def test_the_verb_prints_its_address_first_and_ends_by_itself(capsys):
    assert main(["serve", "policy", "--seconds", "0.2"]) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("http://127.0.0.1:") and last == f"0 completions answered at {first}."
    assert main(["serve", "policy", "--seconds", "0.2", "--json"]) == 0
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "scripted/dup" in documents[0]["models"] and documents[1]["answered"] == {}


@pytest.mark.parametrize("words", [["policy", "--port", "70000"], ["policy", "--seconds", "0"], ["policy", "--seconds", "nan"], ["fhir"]])
def test_what_the_verb_cannot_do_is_exit_2(capsys, words):
    assert main(["serve", *words]) == 2
    assert capsys.readouterr().err


def test_a_port_in_use_is_exit_2(capsys, server):
    assert main(["serve", "policy", "--port", str(server.server_address[1])]) == 2
    assert "cannot be opened" in capsys.readouterr().err
