"""`clinworld serve`. So far `policy`; what other servers will be is in the design, not here."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from signal import SIGINT, SIGTERM, getsignal, signal
from typing import Any

import orjson
from cyclopts import App

from clinworld.cli.console import Console
from clinworld.core.errors import UsageError
from clinworld.serve.policy.script import CASES
from clinworld.serve.policy.server import HOST, PREFIX, PolicyServer

MOST_SECONDS = 86_400

serve = App(name="serve", help="Serve on this machine alone: `policy` answers as scripted policies.")


@serve.command
def policy(*, port: int = 0, seconds: float = 3600, json: bool = False, quiet: bool = False) -> int:
    """Answer as scripted policies on an OpenAI-shaped endpoint of this machine, for a bounded time.

    The model name chooses what the policy does: scripted/control does what the prompt asks; scripted/dup, extra, omit, unsubmit, claim,
    screen_only and wrong_record are labelled ways to look as if; scripted/noop does nothing. No model is asked and no key is read.
    The first line printed is the address; it stops by itself, or on an interrupt.

    Parameters
    ----------
    port
        The port on 127.0.0.1; 0 takes a free one.
    seconds
        How long it lives.
    json
        One JSON document a line on standard output: the address at the start, the counts at the end.
    quiet
        Only the address and the last line.
    """
    if not 0 <= port <= 65535:
        raise UsageError("port", str(port), "0 to 65535")
    if not 0 < seconds <= MOST_SECONDS:
        raise UsageError("seconds", str(seconds), f"more than 0, at most {MOST_SECONDS}")
    console = Console(as_json=json, quiet=quiet)
    try:
        server = PolicyServer(port)
    except OSError as problem:
        raise UsageError("port", f"{HOST}:{port} cannot be opened ({problem.strerror})", do="Name another, or 0 for a free one.") from None
    models = [PREFIX + case for case in CASES]
    if json:
        _print_line({"url": server.url, "models": models, "seconds": seconds})
    else:
        print(server.url, flush=True)
        console.say(f"Models: {', '.join(models)}. Stops after {seconds:g} s.")
    with _stopped_by_signal(server):
        server.serve_for(seconds)
    total = sum(server.answered.values())
    if json:
        _print_line({"url": server.url, "answered": server.answered})
    else:
        console.finish(f"{total} completions answered at {server.url}.", {})
    return 0


def _print_line(document: Mapping[str, Any]) -> None:
    # The address is needed while the server runs, so there are two documents, each on a line of its own.
    print(orjson.dumps(document).decode(), flush=True)


@contextmanager
def _stopped_by_signal(server: PolicyServer) -> Iterator[None]:
    """An interrupt ends the serving, not the command. `shutdown` waits for the loop, so another thread calls it."""

    def stop(*_: Any) -> None:
        threading.Thread(target=server.shutdown, daemon=True).start()

    is_main = threading.current_thread() is threading.main_thread()  # signals go to the main thread only
    before = {number: getsignal(number) for number in (SIGINT, SIGTERM)} if is_main else {}
    for number in before:
        signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal(number, handler)
