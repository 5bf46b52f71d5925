"""The `clinworld` command: one function per verb, loaded only when it is called; here errors become messages and exit codes."""

import os
import sys
import traceback
from collections.abc import Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy loads: idle BLAS threads cost start-up time

import orjson
from cyclopts import App, CycloptsError, Parameter

from clinworld import __version__
from clinworld.core.errors import ClinworldError
from clinworld.core.printing import show_plain

INTERRUPTED = 130
LAST_STREAM = 2  # standard error
VERBS = {  # the first line of each verb's docstring, so that `--help` imports none of them
    "demo": "Build, verify, run and report the example job; a page to open at the end.",
    "build": "Draw, render and gate the cases of a job into a new batch.",
    "verify": "Check every item of a job or batch again from what is on disk, or a pack folder.",
    "run": "Answer the items of a job or batch with agents, then judge the answers.",
    "report": "Make the page, Markdown and tables of one or more batches from saved verdicts.",
    "cohort": "Make many patients at once, as Parquet tables of everything charted of them.",
    "serve": "Serve on this machine alone: `policy` answers as scripted policies.",
    "certify": "Count how often a reward can be fooled, and certify an exact bound on it.",
    "certificate": "Check a certificate file, or explain it in plain words.",
    "inputs": "List what goes in: a kind of knowledge row, or the values in force in a job.",
}

HELP = """Synthetic longitudinal patients with a fixed right answer, and an exam for health agents built on them.

Everything it makes is synthetic and for evaluation only; nothing is medical advice; no clinician has reviewed it.
Start with `clinworld demo`.
"""


def make_app() -> App:
    """The command line, with every verb named and none imported."""
    app = App(
        name="clinworld",
        help=HELP,
        version=__version__,
        help_format="plaintext",
        result_action="return_value",
        default_parameter=Parameter(negative=()),
        suppress_keyboard_interrupt=False,
    )
    for verb, summary in VERBS.items():
        app.command(f"clinworld.cli.{verb}:{verb}", name=verb, help=summary)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code of design section 5.

    With `--json` a failure is a document too, `{"error": …, "exit_code": …}` on standard output; its message is on standard error as ever.
    """
    _open_closed_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        outcome = make_app()(words, exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except BrokenPipeError:
        _drop_output()
        return 0
    except Exception as problem:
        message, code = _explain(problem)
    except KeyboardInterrupt:
        message, code = "Stopped. Run the same command again to go on.", INTERRUPTED
    return _fail(message, code, as_json="--json" in words)


def _explain(problem: Exception) -> tuple[str, int]:
    """What is told of an error, and its exit code."""
    match problem:
        case CycloptsError():
            return f"{problem}\n`clinworld --help` lists the verbs, `clinworld VERB --help` the options of one.", 2
        case ClinworldError():
            return str(problem), problem.exit_code
        case OSError():
            return f"{problem.filename or 'file system'}: {problem.strerror or problem}.", 2
    told = "".join(traceback.format_exception(problem))
    return f"{told}\nInternal error: this is a fault of ClinWorld, not of your input. Please report it.", 1


def _fail(message: str, code: int, *, as_json: bool) -> int:
    print(show_plain(message), file=sys.stderr)
    try:
        if as_json:
            document = {"error": message.encode(errors="replace").decode(), "exit_code": code}
            sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")
        sys.stdout.flush()
    except OSError:
        _drop_output()
    return code


def _open_closed_streams() -> None:
    """Streams the caller closed (`>&-`) lead nowhere, so that no file of a batch gets their number and nothing fails to print."""
    if sys.stdout is not None and sys.stderr is not None:
        return
    while (number := os.open(os.devnull, os.O_RDWR)) <= LAST_STREAM:
        continue
    os.close(number)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends


def _drop_output() -> None:
    """What is left to print leads nowhere: keeps the interpreter's last flush quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
