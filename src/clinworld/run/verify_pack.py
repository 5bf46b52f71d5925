"""A pack proves itself: everything its folder claims is tried on drawn items, in memory, and each check says what it saw.

`clinworld verify FOLDER` prints the findings and ends with exit code 3 when there is one.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from clinworld.core.errors import ClinworldError, UsageError
from clinworld.judges.subject import gold_kind
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.packs.declaration import read_card
from clinworld.packs.load import LoadedPack, WritesPack, list_cards, load_pack
from clinworld.run import pack_controls, pack_items, pack_shape
from clinworld.run.pack_exam import Exam
from clinworld.run.pack_items import DrawnItems
from clinworld.schema.finding import Finding
from clinworld.scores.board import MIN_ITEMS

ITEMS = 60
ITEMS_IN_ROUNDS = 48  # each of them is asked many times
ITEMS_IN_OTHER_LANGUAGES = 16


@dataclass(frozen=True, slots=True)
class PackCheck:
    """One check: its name, what it found, and what it looked at ("not run" with the reason when it could not be run)."""

    name: str
    state: str  # passed | failed | not_run
    detail: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class PackSummary:
    """What verification of a pack folder found."""

    folder: Path
    pack: str
    items: int
    languages: tuple[str, ...]
    checks: tuple[PackCheck, ...]
    seconds: float
    looked_at: str = ""  # where no items are drawn

    @property
    def findings(self) -> tuple[str, ...]:
        """Every finding, one line each; a check that could not be run is one too."""
        found = [str(finding) for check in self.checks for finding in check.findings]
        return (*found, *(f"{check.name}: not run ({check.detail})" for check in self.checks if check.state == "not_run"))

    @property
    def exit_code(self) -> int:
        """0 when nothing failed, else 3."""
        return 3 if self.findings else 0

    def line(self) -> str:
        """One line saying what was checked."""
        bad = self._count("failed") + (f", {self._count('not_run')}" if any(check.state == "not_run" for check in self.checks) else "")
        drawn = f"{self.items} drawn items in {' and '.join(self.languages)}" if self.items else "no item drawn"
        return f"Verified pack {self.pack}: {len(self.checks)} checks, {bad}; {self.looked_at or drawn}: {self.folder}"

    def _count(self, state: str) -> str:
        names = [check.name for check in self.checks if check.state == state]
        return f"{len(names)} {state.replace('_', ' ')}" + (f" ({', '.join(names)})" if names else "")

    def document(self) -> dict[str, Any]:
        """The summary as JSON."""
        checks = [asdict(check) for check in self.checks]
        return {
            "pack": self.pack,
            "folder": str(self.folder),
            "items": self.items,
            "languages": self.languages,
            "checks": checks,
            "findings": self.findings,
            "seconds": self.seconds,
            "exit_code": self.exit_code,
        }


@dataclass(slots=True)
class _Run:
    """The checks made so far. `stop_reason` is set when nothing further can be checked."""

    checks: list[PackCheck] = field(default_factory=list)
    stop_reason: str = ""

    def check(self, name: str, find: Callable[[], Iterable[Finding]], detail: str) -> None:
        """Make one check; what a pack's own code raises is a finding of it."""
        if self.stop_reason:
            self.checks.append(PackCheck(name, "not_run", self.stop_reason))
            return
        try:
            findings = tuple(find())
        except ClinworldError as problem:
            findings = (Finding(name, problem.where, problem.found, problem.allowed),)
        except Exception as problem:  # the pack's code is not ours: whatever it raises fails the check and is named
            findings = (Finding(name, "the pack's own code", f"{type(problem).__name__}: {problem}", "it runs"),)
        self.checks.append(PackCheck(name, "failed" if findings else "passed", detail, findings))


def verify_pack(folder: Path, *, extra_dirs: Sequence[Path] = (), knowledge_dir: Path | None = None) -> PackSummary:
    """Check a pack folder. `extra_dirs` are other outside packs, none of which may have its name.

    Raises KnowledgeError, and UsageError for outside knowledge where the pack draws no items.
    """
    began = time.monotonic()
    folder, run = folder.resolve(), _Run()
    if (writes := _find_writes(folder)) is not None:
        if knowledge_dir is not None:
            raise UsageError("--knowledge", f"not for {writes.card.name}, which draws no items", do="Leave it out.")
        return _verify_writes(writes, extra_dirs, run, began)
    knowledge = load_knowledge(knowledge_dir)
    loaded = _load(folder, extra_dirs, run)
    run.check("shape", lambda: (*pack_shape.check_files(folder), *pack_shape.check_imports(folder)), "files, headings, canary, imports")
    drawn: list[DrawnItems] = []
    if loaded is not None:
        _check_declared(loaded, run)
        _check_drawn(loaded, knowledge, drawn, run)
        _check_answers(loaded, knowledge, drawn, run)
    items = sum(len(each.built) for each in drawn)
    languages = loaded.pack.languages if loaded else ()
    name = loaded.pack.name if loaded else folder.name
    return PackSummary(folder, name, items, languages, tuple(run.checks), round(time.monotonic() - began, 2))


def _find_writes(folder: Path) -> WritesPack | None:
    """The pack, where it is one that is rewarded on a record system; a declaration that cannot be read is for the check of it."""
    try:
        card = read_card(folder)
    except ClinworldError:
        return None
    return WritesPack(card) if card.kind == "record_writes" else None


def _verify_writes(pack: WritesPack, extra_dirs: Sequence[Path], run: _Run, began: float) -> PackSummary:
    """Make the checks a pack brings for itself."""
    card = pack.card
    run.check("declaration", lambda: _check_name(card.name, card.folder, extra_dirs), "pack.yaml is closed and well formed")
    held: list[str] = []

    def find_missing() -> Iterator[Finding]:
        for sort, names in pack.list_contents().items():
            held.append(f"{len(names)} {sort.replace('_', ' ')}")
            if not names:
                yield Finding("contents", sort.replace("_", " "), "none", "at least one")

    run.check("contents", find_missing, "the pack holds something of every sort, read from where it lives")
    for name, find, detail in pack.checks:
        run.check(name, find, detail)
    seconds = round(time.monotonic() - began, 2)
    return PackSummary(card.folder, card.name, 0, card.languages, tuple(run.checks), seconds, ", ".join(held))


def _check_name(name: str, folder: Path, extra_dirs: Sequence[Path]) -> Iterator[Finding]:
    others = [each for each in extra_dirs if each.resolve() != folder]
    taken = list_cards(others).get(name)
    if others and taken is not None and taken.folder.resolve() != folder:
        yield Finding("declaration", "pack.yaml, pack", f"the name {name!r} of {taken.folder}", "a name of its own")


def _load(folder: Path, extra_dirs: Sequence[Path], run: _Run) -> LoadedPack | None:
    loaded: list[LoadedPack] = []

    def find() -> Iterator[Finding]:
        loaded.append(load_pack(folder))
        yield from _check_name(loaded[0].pack.name, folder, extra_dirs)

    run.check("declaration", find, "pack.yaml is closed and well formed")
    return loaded[0] if loaded else None


def _check_declared(loaded: LoadedPack, run: _Run) -> None:
    run.check("names", lambda: pack_shape.check_declaration(loaded), "gates, judges, controls and functions exist")
    run.check("prompts", lambda: pack_shape.check_prompts(loaded), "a prompt for each language")
    if run.checks[-1].state == "failed" or run.checks[-2].state == "failed":
        run.stop_reason = "the declaration names what is not there"


def _check_drawn(loaded: LoadedPack, knowledge: Knowledge, drawn: list[DrawnItems], run: _Run) -> None:
    first, *others = loaded.pack.languages
    n = ITEMS if loaded.pack.episodes[0] == "single" else ITEMS_IN_ROUNDS

    def draw() -> Iterator[Finding]:
        for language, count in ((first, n), *((other, ITEMS_IN_OTHER_LANGUAGES) for other in others)):
            drawn.append(pack_items.draw_items(loaded, knowledge, language, n, first=count))
            yield from pack_items.check_emitted(drawn[-1])

    run.check("items", draw, f"{n} drawn items, their gates and every text, in {', '.join(loaded.pack.languages)}")
    if len(drawn) < len(loaded.pack.languages):
        run.stop_reason = "no item could be drawn"
    run.check("gold", lambda: pack_items.check_derivations(drawn[0], loaded, knowledge), "both derivations agree, tampered charts do not")
    run.check("determinism", lambda: pack_items.check_rebuilt(drawn[0], loaded, knowledge), "built twice, alone and in another order")
    pairs = [(drawn[0], other) for other in drawn[1:]]
    run.check("languages", lambda: (f for one, two in pairs for f in pack_items.check_languages(one, two)), "only wording differs")


def _check_answers(loaded: LoadedPack, knowledge: Knowledge, drawn: list[DrawnItems], run: _Run) -> None:
    emitted = drawn[0].emitted if drawn else []
    if not run.stop_reason and min(pack_items.halves(emitted)) < MIN_ITEMS:
        run.stop_reason = f"{len(emitted)} items were emitted; {MIN_ITEMS} of each outcome are needed"
    exam = Exam(loaded, knowledge, tuple(emitted))
    kind = gold_kind(emitted[0][1]) if emitted else ""
    run.check("mounting", lambda: pack_shape.check_mounted(loaded, kind), "every judge is mounted, or says why not")
    run.check("gold control", lambda: pack_controls.check_ceiling(exam), "the gold answer earns full marks and trips nothing")
    run.check("floors", lambda: pack_controls.check_floors(exam), "constants at their floors, the positive control above")
    run.check("silence", lambda: pack_controls.check_silence(exam), "an empty reply earns nothing")
    run.check("hard gates", lambda: pack_controls.check_hard_gates(exam), "each trips on its control, whose headline is then 0")
    run.check("probes", lambda: pack_controls.check_probes(exam), "appended questions are pinned at both ends")
    run.check("written controls", lambda: pack_controls.check_written(exam), f"{len(loaded.control_answers)} rows of controls.jsonl")
