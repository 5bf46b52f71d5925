"""What can be checked of a pack folder without building anything: its files, its declaration, its languages, and who imports whom."""

import ast
from collections.abc import Iterator
from pathlib import Path

from clinworld.access.prompt import load_template
from clinworld.core.canary import CANARY
from clinworld.core.errors import PackError
from clinworld.gates.run_gates import find_gate
from clinworld.judges.mount import check_mounting, find_judge, why_not
from clinworld.packs.load import LoadedPack
from clinworld.schema.finding import Finding

FILES = ("pack.yaml", "plan.py", "gold.py", "answer.py", "reader.py", "controls.jsonl", "README.md")
HEADINGS = ("Decision", "View", "Answer", "Gold", "Judges", "Controls", "Known limits")
ANSWER_BEARING = ("pack.yaml", "controls.jsonl")
FORBIDDEN = {  # a file's stem → parts of module names it may not import
    "reader": ("plan", "gold", "premise", "world", "run"),
    "gold": ("plan",),
}


def check_files(folder: Path) -> Iterator[Finding]:
    """Files that are missing, headings that are not the seven, answer-bearing files without the canary."""
    for name in FILES:
        if not (folder / name).is_file():
            yield Finding("shape", name, "no such file", "a pack folder holds " + ", ".join(FILES))
    readme = folder / "README.md"
    if readme.is_file():
        found = tuple(line[3:].strip() for line in readme.read_text(encoding="utf-8").splitlines() if line.startswith("## "))
        if found != HEADINGS:
            missing = [heading for heading in HEADINGS if heading not in found]
            said = "no heading " + ", ".join(missing) if missing else "other headings or another order"
            yield Finding("shape", "README.md", said, "headings: " + ", ".join(HEADINGS))
    for name in ANSWER_BEARING:
        if (folder / name).is_file() and CANARY not in (folder / name).read_text(encoding="utf-8"):
            yield Finding("shape", name, "no canary", f"every answer-bearing file holds {CANARY!r}")


def check_imports(folder: Path) -> Iterator[Finding]:
    """A reader that could see gold, and a second derivation of gold that uses the first."""
    for stem, forbidden in FORBIDDEN.items():
        path = folder / f"{stem}.py"
        for module in _imported(path) if path.is_file() else ():
            bad = [part for part in module.split(".") if part in forbidden]
            if bad and not (stem == "gold" and bad == ["gold"]):
                yield Finding("shape", path.name, f"imports {module}", f"{path.name} may not import {', '.join(forbidden)}")


def _imported(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return found + [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]


def check_declaration(pack: LoadedPack) -> Iterator[Finding]:
    """Names in the declaration that stand for nothing, and functions that are not there."""
    yield from check_mounting(pack.pack)
    for what in ("derive_gold", "draw_cases", "read_gold", "agrees", "answer_model", "controls"):
        try:
            getattr(pack, what)
        except PackError as problem:
            yield Finding("shape", problem.where, problem.found, problem.allowed)
    for gate in pack.pack.gates:
        try:
            find_gate("item", gate)
        except PackError as problem:
            yield Finding("shape", f"pack.yaml, gates, {gate}", problem.found, problem.allowed)
    if not pack.pack.gates:
        yield Finding("shape", "pack.yaml, gates", "no gate", "a pack names the gates its items pass")
    if not pack.control_answers:
        yield Finding("shape", "controls.jsonl", "no row", "answers with the verdicts they must get")


def check_prompts(pack: LoadedPack) -> Iterator[Finding]:
    """A prompt for each declared language, with a place for the record, and both languages for every question the pack asks."""
    for language in pack.pack.languages:
        path = pack.pack.folder / f"prompt.{language}.md"
        try:
            text = load_template(path)
        except PackError as problem:
            yield Finding("languages", problem.where, problem.found, problem.allowed)
            continue
        if "{{record}}" not in text:
            yield Finding("languages", path.name, "no place {{record}}", "a prompt holds the record")


def check_mounted(pack: LoadedPack, gold: str) -> Iterator[Finding]:
    """Judges that are neither mounted on this kind of gold in some episode of the pack nor say why not."""
    for use in pack.pack.judges:
        reasons = [why_not(find_judge(use.judge).DECLARES, gold, episode) for episode in pack.pack.episodes]
        if all(reasons):
            yield Finding("mounting", f"judges.{use.name}", f"mounted in no episode ({reasons[0]})", "a declared judge judges something")
