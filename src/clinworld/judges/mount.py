"""Judges and gates found by folder, attached to a cell by the gold its item carries and its episode, and run.

`judge_cell` is a process edge: whatever a judge raises becomes an unscored verdict that names it, so that nothing else of the cell is
lost. What the numbers mean together is decided in scores/.
"""

import ast
import traceback
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from clinworld.core.errors import PackError, allowed_values, nearest_match
from clinworld.judges.declares import Declares, GateDeclares
from clinworld.judges.subject import Subject, gold_kind, read_strata
from clinworld.schema.finding import Finding
from clinworld.schema.pack import JudgeUse, Pack
from clinworld.schema.verdict import GateVerdict, Verdict, not_applicable, unscored

HERE = Path(__file__).parent
PARAMETERS = HERE.parent / "knowledge" / "parameters" / "judges.csv"

Said = TypeVar("Said")


class Judge(Protocol):
    """A judge's file."""

    DECLARES: Declares

    @staticmethod
    def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
        """The verdicts on one cell."""


class Gate(Protocol):
    """A gate's file."""

    DECLARES: GateDeclares

    @staticmethod
    def judge(subject: Subject) -> GateVerdict:
        """The verdict on one cell."""


class Judged(NamedTuple):
    """Everything judges and gates said of one cell; `strata` is what dimensions may be averaged within."""

    verdicts: tuple[Verdict, ...]
    gates: tuple[GateVerdict, ...]
    strata: dict[str, str]


def judge_cell(subject: Subject, pack: Pack) -> Judged:
    """Every verdict and gate of the pack on one cell, in the pack's order.

    A judge that does not apply gives its reason. A judge or gate that raises, whatever it raises, is unscored or unknown and named.
    """
    verdicts: list[Verdict] = []
    for use in pack.judges:
        verdicts += _run_judge(use, subject)
    gates = (_run_gate(name, subject) for name in (*pack.hard_gates, *pack.propensity_gates, *pack.reported_gates))
    return Judged(tuple(verdicts), tuple(gates), read_strata(subject))


def why_not(declares: Declares | GateDeclares, gold: str, episode: str) -> str:
    """Why a judge or gate is not mounted on a kind of gold in an episode; "" where it is."""
    if gold not in declares.gold:
        return f"judges {', '.join(declares.gold)} only"
    return declares.not_in.get(episode, "")


@lru_cache
def judge_names() -> tuple[str, ...]:
    """Every judge there is, in name order: the files of this folder that declare one."""
    return tuple(sorted(path.stem for path in HERE.glob("*.py") if "\nDECLARES = " in path.read_text(encoding="utf-8")))


@lru_cache
def gate_names() -> tuple[str, ...]:
    """Every answer gate there is, in name order."""
    return tuple(sorted(path.stem for path in (HERE / "gates").glob("*.py") if path.stem != "__init__"))


@lru_cache
def find_judge(name: str) -> Judge:
    """The judge of that name. Raises PackError for one that is not there."""
    if name not in judge_names():
        names = judge_names()
        raise PackError("judges", f"no judge {name!r}", allowed_values(names, most=30), nearest=nearest_match(name, names))
    return cast(Judge, import_module(f"clinworld.judges.{name}"))


@lru_cache
def find_answer_gate(name: str) -> Gate:
    """The answer gate of that name. Raises PackError for one that is not there."""
    if name not in gate_names():
        names = gate_names()
        raise PackError("answer gates", f"no gate {name!r}", allowed_values(names, most=30), nearest=nearest_match(name, names))
    return cast(Gate, import_module(f"clinworld.judges.gates.{name}"))


def verdict_names(use: JudgeUse) -> tuple[str, ...]:
    """What the verdicts of a mounted judge are called: the pack's name for it in place of the judge's own."""
    return tuple(_called(output, use) for output in find_judge(use.judge).DECLARES.outputs)


def check_mounting(pack: Pack) -> tuple[Finding, ...]:
    """What is wrong with a pack's judges, gates and score block: unknown names and settings, dimensions that cannot stand alone."""
    findings: list[Finding] = []
    growing: list[str] = []
    called: list[str] = []
    for use in pack.judges:
        if use.judge not in judge_names():
            nearest = nearest_match(use.judge, judge_names())
            findings.append(
                Finding("mounting", f"judges.{use.name}.use", use.judge, f"there is {nearest!r}" if nearest else "no such judge")
            )
            continue
        declares = find_judge(use.judge).DECLARES
        unknown = [key for key, _ in use.settings if key not in declares.settings]
        findings += [Finding("mounting", f"judges.{use.name}.{key}", "a setting", "the judge has no such setting") for key in unknown]
        called += [name for name in verdict_names(use) if name not in called]
        growing += [_called(output, use) for output in declares.grows_with_output]
    for name in (*pack.hard_gates, *pack.propensity_gates, *pack.reported_gates):
        if name not in gate_names():
            findings.append(Finding("mounting", "gates", name, "no such answer gate"))
    scored = [dimension.verdict for dimension in pack.dimensions]
    for dimension in pack.dimensions:
        place = f"score.dimensions.{dimension.verdict}"
        if dimension.verdict not in called:
            findings.append(Finding("mounting", place, dimension.verdict, "no mounted judge gives this verdict"))
        if dimension.verdict in growing and dimension.paired_with is None:
            findings.append(Finding("mounting", place, "no partner", "saying more alone improves it; pair it with what that costs"))
        if dimension.paired_with is not None and dimension.paired_with not in scored:
            findings.append(Finding("mounting", place, f"partner {dimension.paired_with}", "the partner is no dimension"))
        if dimension.direction == "none" and dimension.role in ("skill", "deduct"):
            findings.append(Finding("mounting", place, f"role {dimension.role}", "a dimension without a direction enters no headline"))
    return tuple(findings)


def judge_files(name: str) -> tuple[Path, ...]:
    """Every file a judge or gate depends on within judges/, its own first, and the parameter table: what its stamp is over."""
    own = HERE / f"{name}.py" if name in judge_names() else HERE / "gates" / f"{name}.py"
    if not own.is_file():
        find_judge(name)
    found, waiting = [own], [own]
    while waiting:
        for path in _imports(waiting.pop()):
            if path not in found:
                found.append(path)
                waiting.append(path)
    tables = [table for path in found for table in sorted(path.parent.glob("*.csv")) if table.name in path.read_text(encoding="utf-8")]
    return (*found[:1], *sorted({*found[1:], *tables}), PARAMETERS)


def _run_judge(use: JudgeUse, subject: Subject) -> tuple[Verdict, ...]:
    declares = find_judge(use.judge).DECLARES
    reason = why_not(declares, gold_kind(subject.gold), subject.episode)
    if reason:
        return tuple(not_applicable(_called(output, use), reason) for output in declares.outputs)
    said, problem = _at_the_edge(lambda: find_judge(use.judge).judge(subject, dict(use.settings)))
    if said is None:
        return tuple(unscored(_called(output, use), f"judge {use.judge} failed: {problem}") for output in declares.outputs)
    if use.name == use.judge:
        return said
    return tuple(Verdict(_called(each.name, use), each.state, each.value, each.reason, each.detail) for each in said)


def _run_gate(name: str, subject: Subject) -> GateVerdict:
    gate = find_answer_gate(name)
    reason = why_not(gate.DECLARES, gold_kind(subject.gold), subject.episode)
    if reason:
        return GateVerdict(name, None, 0, 0, (), reason)
    said, problem = _at_the_edge(lambda: gate.judge(subject))
    return said if said is not None else GateVerdict(name, None, 0, 0, (), f"gate {name} failed: {problem}")


def _at_the_edge(run: Callable[[], Said]) -> tuple[Said | None, str]:
    """What `run` gives, or None and the last line of what it raised."""
    try:
        return run(), ""
    except Exception as problem:  # the process edge this module documents; the failure is kept in the row
        return None, traceback.format_exception_only(problem)[-1].strip()


def _called(output: str, use: JudgeUse) -> str:
    return use.name + output.removeprefix(use.judge)


def _imports(path: Path) -> list[Path]:
    modules = [
        node.module for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom) and node.module
    ]
    inside = [HERE.joinpath(*module.split(".")[2:]).with_suffix(".py") for module in modules if module.startswith("clinworld.judges.")]
    return [each for each in inside if each.is_file()]
