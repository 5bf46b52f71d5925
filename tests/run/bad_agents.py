"""Agents that do what none should, for `--agent bad_agents:NAME`."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable

from clinworld.models.backend import Reply, Request

ANSWER = '{"forecast": {"risk": 0.4, "risk_category": "low"}}'
LONE = chr(0xD800)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def surrogate(prompt: str) -> str:
    return LONE + ANSWER


def surrogates_everywhere(request: Request) -> Reply:
    return Reply(ANSWER + LONE, reasoning=LONE, usage={LONE: 1}, finish_reason="stop" + LONE)


def exits(prompt: str) -> str:
    sys.exit("bye")


def interrupts_itself(prompt: str) -> str:
    raise KeyboardInterrupt("mine")


def leaves_generator(prompt: str) -> str:
    raise GeneratorExit


def stops_iteration(prompt: str) -> str:
    raise StopIteration


def raises_group(prompt: str) -> str:
    raise BaseExceptionGroup("several", [SystemExit(1), ValueError("x")])


def raises_unprintable(prompt: str) -> str:
    raise Unprintable


async def exits_async(request: Request) -> str:
    await asyncio.sleep(0)
    raise SystemExit(3)


async def interrupts_async(request: Request) -> str:
    raise KeyboardInterrupt


async def leaves_async(request: Request) -> str:
    raise GeneratorExit


async def cancels_async(request: Request) -> str:
    raise asyncio.CancelledError


def exits_later(request: Request) -> Awaitable[str]:
    return exits_async(request)


def odd_usage(request: Request) -> Reply:
    return Reply(ANSWER, usage={"tokens": 2**70})


def odd_text(request: Request) -> Reply:
    return Reply(7)  # type: ignore[arg-type]  # what a careless agent returns


def hostile_error(prompt: str) -> str:
    raise ValueError("\x1b[2J\x1b]0;owned\x07 line one\nline two " + "x" * 5000 + LONE)


def prints(prompt: str) -> str:
    print("printed by the agent")
    os.write(1, b"written by the agent\n")
    subprocess.run([sys.executable, "-c", "print('printed by its child')"], check=True)
    return ANSWER
