"""A job file, read and checked; and where packaged jobs are found.

What is wrong with the file is a JobError with file, line and path. Contradictions between good values are left to `conflicts.py`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clinworld.core.digest import digest_value
from clinworld.core.errors import UsageError, allowed_values, nearest_match
from clinworld.core.tables import load_yaml
from clinworld.knowledge.load import Knowledge
from clinworld.schema.job import Case, Job
from clinworld.world.draw_mix import load_draw_weights
from clinworld.world.job_case import read_case
from clinworld.world.job_keys import load_job_keys, packaged_tasks
from clinworld.world.job_task import names_plugin, read_episode, read_mix, read_seed, read_task, shown_seed
from clinworld.world.job_text import JobText, describe
from clinworld.world.job_values import in_force, read_section

_WHOLE_FLOATS = 2**53  # from here on not every whole number is a float
JOBS = Path(__file__).resolve().parents[1] / "jobs"


def read_job(path: Path, knowledge: Knowledge, *, tasks: Iterable[str] = ()) -> Job:
    """The job in a YAML file. `tasks` are packs outside the package that it may name.

    Raises JobError for the first thing wrong with the file: syntax, unknown key or name, type, hard range, id, duplicate.
    """
    text = JobText(load_yaml(path), str(path))
    if not isinstance(text.value, dict):
        raise text.error((), describe(text.value), "a mapping with `job_id` is expected", do="See `clinworld inputs jobs` for examples.")
    top = read_section(text, (), "top", given=text.value)
    task = read_task(text, top, sorted({*packaged_tasks(), *tasks}))
    episode = read_episode(text, top, task)
    seed = read_seed(text, top, path.parent)
    labels: dict[str, None] = {key: None for key in top if load_job_keys()["top"][key].effect != "yes"}
    if names_plugin(top):
        del labels["plugins"]
    cases = _read_cases(text, top, knowledge, labels)
    return Job(
        job_id=top["job_id"],
        task=task,
        language=in_force("top", top, "language"),
        seed=seed,
        cases=cases,
        episode=episode,
        cadence_days=in_force("top", top, "cadence_days"),
        findings=in_force("top", top, "findings"),
        physio=in_force("top", top, "physio"),
        items=top.get("items"),
        mix=_read_mix(text, top, knowledge),
        without_effect=tuple(labels),
        digest=_digest(text.value, seed),
        path=str(path),
    )


def _read_cases(text: JobText, top: dict[str, Any], knowledge: Knowledge, labels: dict[str, None]) -> tuple[Case, ...]:
    given = top.get("cases")
    if given is None:
        if "items" not in top:
            raise text.error((), "neither `cases` nor `items`", "a job writes cases out or says how many to draw", do="Add one of them.")
        return ()
    if not isinstance(given, list):
        raise text.error(("cases",), describe(given), "a list of cases is expected", do="Start each case with `- case_id:`.")
    if not given:
        raise text.error(
            ("cases",), "an empty list", "at least one case is expected", do="Add a case, or write `items` and leave `cases` out."
        )
    cases: list[Case] = []
    seen: dict[str, int] = {}
    for n, entry in enumerate(given):
        case = read_case(text, ("cases", n), entry, knowledge, labels)
        if case.case_id in seen:
            found = f"{case.case_id!r}, which cases[{seen[case.case_id]}] has already"
            raise text.error(("cases", n, "case_id"), found, "each case has an id of its own", do="Rename one of them.")
        seen[case.case_id] = n
        cases.append(case)
    return tuple(cases)


def _read_mix(text: JobText, top: dict[str, Any], knowledge: Knowledge) -> tuple[tuple[str, str], ...]:
    if "mix" in top and "items" not in top:
        raise text.error(("mix",), "a mix without `items`", "a mix is about drawn cases", do="Add `items`, or remove the mix.")
    mix = read_mix(text, top.get("mix"), knowledge)
    outcomes = [(key, share) for key, share in mix if key in ("outcome", "outcome.regain", "outcome.maintain")]
    has_regain = not outcomes or any(key != "outcome.maintain" and share != "0.0" for key, share in outcomes)
    if not has_regain and any(key.startswith("driver") for key, _ in mix):
        rule = "a driver is the cause of a regain"
        raise text.error(("mix", "driver"), "drivers in a mix without regain", rule, do="Give regain a share, or remove the drivers.")
    for axis, label in (key.split(".", 1) for key, share in mix if share not in ("balanced", "0.0")):
        if axis == "driver" and knowledge.drivers[label].needs_symptom:
            found, rule = f"driver {label}", "it shows only in a told symptom, and drawn cases tell none"
            raise text.error(("mix", "driver"), found, rule, do="Write such cases out by hand.")
        if axis == "disease" and label not in load_draw_weights()["disease"]:
            rule = allowed_values(load_draw_weights()["disease"])
            raise text.error(("mix", "disease"), f"disease {label}, which is not drawn", rule, do="Write such cases out by hand.")
    return mix


def _digest(document: dict[str, Any], seed: str) -> str:
    values = {("task" if key == "task_type" else key): _plain(value) for key, value in document.items()}
    return digest_value([values, shown_seed(seed)])


def _plain(value: Any) -> Any:
    """The value with 98.0 as 98, so that a digest does not depend on how a number is written."""
    match value:
        case dict():
            return {key: _plain(inner) for key, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case float() if abs(value) < _WHOLE_FLOATS and value == int(value):
            return int(value)
        case _:
            return value


def packaged_jobs() -> list[Path]:
    """The job files of the package, by name."""
    return sorted(JOBS.glob("*.yaml"))


def find_job(name: str | Path) -> Path:
    """The file of a path or of a packaged name such as `example-ew`.

    A path that does not exist is left for `read_job` to report; a bare name that is neither is a UsageError with the nearest name.
    """
    path = Path(name)
    names = {job.stem: job for job in packaged_jobs()}
    if not path.is_file() and str(name) in names:
        return names[str(name)]
    if path.exists() or path.suffix or path.parent != Path():
        return path
    nearest = nearest_match(str(name), names)
    raise UsageError(
        str(name), "no such job", "a path, or one of: " + ", ".join(names), nearest=nearest, do="`clinworld inputs jobs` lists them."
    )
