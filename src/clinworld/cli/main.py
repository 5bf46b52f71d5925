"""The `clinworld` command: one function per verb, loaded only when it is called; here errors become messages and exit codes."""

import os
import sys
import traceback
from collections.abc import Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy loads: idle BLAS threads cost start-up time

from cyclopts import App, CycloptsError

from clinworld import __version__
from clinworld.core.errors import ClinworldError

INTERRUPTED = 130
VERBS = {  # the first line of each verb's docstring, so that `--help` imports none of them
    "demo": "Build, verify, run and report the example job; a page to open at the end.",
    "build": "Draw, render and gate the cases of a job into a new batch.",
    "verify": "Check every item of a job or batch again from what is on disk, or a pack folder.",
    "run": "Answer the items of a job or batch with agents, then judge the answers.",
    "report": "Make the page, Markdown and tables of one or more batches from saved verdicts.",
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
        suppress_keyboard_interrupt=False,
    )
    for verb, summary in VERBS.items():
        app.command(f"clinworld.cli.{verb}:{verb}", name=verb, help=summary)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code of design section 5."""
    try:
        outcome = make_app()(list(sys.argv[1:] if arguments is None else arguments), exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except CycloptsError as problem:
        return _fail(f"{problem}\n`clinworld --help` lists the verbs, `clinworld VERB --help` the options of one.", 2)
    except ClinworldError as problem:
        return _fail(str(problem), problem.exit_code)
    except KeyboardInterrupt:
        return _fail("Stopped. Run the same command again to go on.", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # keeps the interpreter's last flush quiet
        return 0
    except OSError as problem:
        return _fail(f"{problem.filename or 'file system'}: {problem.strerror or problem}.", 2)
    except Exception:
        return _fail(f"{traceback.format_exc()}\nInternal error: this is a fault of ClinWorld, not of your input. Please report it.", 1)


def _fail(message: str, code: int) -> int:
    print(message, file=sys.stderr)
    return code
