"""`clinworld demo`."""

from pathlib import Path

from clinworld.cli.build import run_build
from clinworld.cli.console import Console
from clinworld.cli.report import run_report
from clinworld.cli.run import run_answers
from clinworld.cli.target import OutFolder, open_job
from clinworld.cli.verify import run_verify

EXAMPLE = "example-ew"


def demo(*, out: OutFolder = Path("artifacts"), language: str | None = None, json: bool = False, quiet: bool = False) -> int:
    """Build, verify, run and report the example job; a page to open at the end.

    Four cases, of which one contradicts itself and is refused by name; every offline control answers; nothing is downloaded.

    Parameters
    ----------
    out
        The folder batches go under.
    language
        en or zh, instead of the example's own.
    json
        One JSON document on standard output, nothing else.
    quiet
        Only the last line, and errors.
    """
    console = Console(as_json=json, quiet=quiet)
    setting, job = open_job(EXAMPLE, language=language)
    built = run_build(setting, job, out, 1, console)
    console.say(built.line().rstrip(":") + ".")
    verified = run_verify(built.batch, setting, console)
    console.say(verified.line().rstrip(";") + ".")
    answered = run_answers(built.batch, setting, (), console, offline=True)
    console.say(answered.line().rstrip(":") + ".")
    page = run_report([built.batch], setting, console, language=language)
    document = {"build": built.document(), "verify": verified.document(), "run": answered.document(), "page": str(page)}
    console.finish(f"Open this page: {page}", document)
    return built.exit_code or verified.exit_code or answered.exit_code
