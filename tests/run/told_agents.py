"""Agents as a user writes them, for `--agent told_agents:NAME`."""

import asyncio
import os
import signal
import time

from clinworld.models.backend import Reply, Request

SEEN: list[str] = []
CALLS: list[int] = []
ANSWER = '{"forecast": {"risk": 0.4, "risk_category": "low"}}'


def remember(prompt: str) -> str:
    SEEN.append(prompt)
    return ANSWER


async def waits(request: Request) -> Reply:
    await asyncio.sleep(0.02)
    return Reply(ANSWER, usage={"output_tokens": 9}, reasoning=f"{request.item_id}/{request.turn}")


def empty(prompt: str) -> str:
    return ""


def cut(request: Request) -> Reply:
    return Reply('{"forecast": {"ri', finish_reason="length")


def prose(prompt):
    return "I would keep an eye on it."


def slow(request):
    time.sleep(0.2)
    return ANSWER


def raises_once(request: Request) -> str:
    CALLS.append(1)
    if len(CALLS) == 1:
        raise ConnectionError("line cut")
    return ANSWER


def returns_number(request: Request) -> int:
    return 7


async def interrupts(request: Request) -> str:
    CALLS.append(1)
    if len(CALLS) == 3:
        os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0.2)
    return ANSWER


def two(a: str, b: str) -> str:
    return a + b


NOT_A_FUNCTION = 3
