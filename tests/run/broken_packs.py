"""Copies of a packaged pack with one thing broken each, for the tests of `verify PACK`."""

import shutil
from collections.abc import Callable
from pathlib import Path

import orjson

from clinworld.packs import load

PACKAGED = Path(load.__file__).parent

Break = Callable[[Path], None]


def copy_pack(folder: Path, name: str = "early_warning") -> Path:
    """A copy outside the package, and nothing else."""
    shutil.copytree(PACKAGED / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder / name


def edit(file: str, change: Callable[[str], str]) -> Break:
    def apply(folder: Path) -> None:
        path = folder / file
        text = path.read_text(encoding="utf-8")
        assert change(text) != text, f"nothing to change in {file}"
        path.write_text(change(text), encoding="utf-8")

    return apply


def delete(file: str) -> Break:
    return lambda folder: (folder / file).unlink()


def another_control(name: str, code: str) -> Break:
    """A control of the pack replaced; `code` is an expression over CONTROLS and replace."""
    text = (
        "from dataclasses import replace\n"
        "from clinworld.packs.forecast.control_list import CONTROLS as KNOWN\n"
        f"CONTROLS = {{**KNOWN, {name!r}: {code}}}\n"
    )
    return lambda folder: (folder / "controls.py").write_text(text, encoding="utf-8") and None


def changed_row(text: str) -> str:
    first, *rest = text.splitlines(keepends=True)
    row = orjson.loads(first)
    row["expects"]["direction"] = 0
    return orjson.dumps(row).decode() + "\n" + "".join(rest)


FLIPPED_GOLD = """\
from dataclasses import replace
from clinworld.packs.forecast import gold as shared
from clinworld.packs.forecast.gold import agrees
def read_gold(*args, **more):
    read = shared.read_gold(*args, **more)
    return replace(read, event_occurs=not read.event_occurs)
"""
BLIND_GOLD = """\
from clinworld.packs.forecast.gold import read_gold
def agrees(planned, read, knowledge=None):
    return []
"""
UNSTEADY_PLAN = """\
from dataclasses import replace
from itertools import count
from clinworld.packs.forecast import plan as shared
from clinworld.world.draw import draw_cases
CALLS = count()
def derive_gold(premise, knowledge):
    gold = shared.derive_gold(premise, knowledge)
    return replace(gold, is_action_warranted=next(CALLS) % 7 == 0)
"""

# what is broken → (how, the check that must fail, what its finding must say)
BROKEN: dict[str, tuple[Break, str, str]] = {
    "a leaking prompt": (
        edit("prompt.en.md", lambda text: text + "\nThe ground truth is kept elsewhere.\n"),
        "items",
        r"leaks: .*texts_clean.*ground truth",
    ),
    "english in the chinese prompt": (
        edit("prompt.zh.md", lambda text: text + "\nPlease answer with the greatest care.\n"),
        "items",
        r"leaks: .*\(zh\).*wrong_language",
    ),
    "a gold control below 1": (
        another_control("oracle", "replace(KNOWN['anti_oracle'])"),
        "gold control",
        r"oracle, (direction|risk_calibration|drivers_overlap): found \d+ of \d+ items below full marks",
    ),
    "a written control that gets another score": (
        edit("controls.jsonl", changed_row),
        "written controls",
        r"controls.jsonl, row 1 \(gold where it happens\), direction: found 1.0; exactly 0",
    ),
    "a missing prompt": (delete("prompt.zh.md"), "declaration", r"'zh' without prompt.zh.md"),
    "a readme without a heading": (
        edit("README.md", lambda text: text.replace("## Known limits", "## Limits")),
        "shape",
        r"README.md: found no heading Known limits",
    ),
    "a hard gate without a control": (
        edit("pack.yaml", lambda text: text.replace("hard_gates: [", "hard_gates: [treatment_before_exclusion, ")),
        "hard gates",
        r"treatment_before_exclusion: found no control says that it trips it",
    ),
    "a hard gate that cannot trip": (
        another_control("gatetrip_med_change", "replace(KNOWN['constant'], purpose=KNOWN['gatetrip_med_change'].purpose)"),
        "hard gates",
        r"med_change_without_clinician: found gatetrip_med_change does not trip it",
    ),
    "derivations of gold that disagree": (
        lambda folder: (folder / "gold.py").write_text(FLIPPED_GOLD) and None,
        "gold",
        r"derivations of gold, drawn items: found \d+ of 60 differ",
    ),
    "derivations of gold that always agree": (
        lambda folder: (folder / "gold.py").write_text(BLIND_GOLD) and None,
        "gold",
        r"tampered charts: found \d+ charts without a rise still agree",
    ),
    "gold that depends on what was built before": (
        lambda folder: (folder / "plan.py").write_text(UNSTEADY_PLAN) and None,
        "determinism",
        r"another item when built again",
    ),
    "a reader no better than a constant": (
        another_control("noise_aware_reader", "replace(KNOWN['constant'], purpose=KNOWN['noise_aware_reader'].purpose)"),
        "floors",
        r"noise_aware_reader, \w+: found \d\.\d+; above its floor",
    ),
    "a dimension that pays silence": (
        edit("pack.yaml", lambda text: text.replace("drivers_overlap, direction: higher", "drivers_overlap, direction: lower")),
        "silence",
        r"drivers_overlap: found silence earns",
    ),
    "an oracle of the questions that is wrong": (
        another_control("oracle_probe_right", "KNOWN['oracle_probe_wrong']"),
        "probes",
        r"oracle_probe_right, probe_no_op: found \d+ of \d+ items otherwise",
    ),
    "a question nobody judges": (
        edit("pack.yaml", lambda text: text.replace("  probe_quant: {use: probe_quant}\n", "")),
        "probes",
        r"probes.appended, quant: found no judge",
    ),
    "a judge there is not": (
        edit("pack.yaml", lambda text: text.replace("{use: top_driver}", "{use: top_drivers}")),
        "names",
        r"judges.top_driver.use: found top_drivers; there is 'top_driver'",
    ),
    "a gate there is not": (
        edit("pack.yaml", lambda text: text.replace("  - texts_clean\n", "  - text_clean\n")),
        "names",
        r"text_clean: found no gate",
    ),
    "a second derivation that uses the first": (
        edit("gold.py", lambda text: text + "from clinworld.packs.forecast.plan import derive_gold\n"),
        "shape",
        r"gold.py: found imports clinworld.packs.forecast.plan",
    ),
    "a reader that sees gold": (
        edit("reader.py", lambda text: text + "from clinworld.schema.gold import GoldRow\n"),
        "shape",
        r"reader.py: found imports clinworld.schema.gold",
    ),
    "a reader of the premise": (
        edit("reader.py", lambda text: text + "from clinworld.schema.premise import Premise\n"),
        "shape",
        r"reader.py: found imports clinworld.schema.premise",
    ),
    "controls without the canary": (
        edit("controls.jsonl", lambda text: text.replace("clinworld canary", "canary")),
        "shape",
        r"controls.jsonl: found no canary",
    ),
    "an unknown key in the declaration": (
        edit("pack.yaml", lambda text: text + "colour: blue\n"),
        "declaration",
        r"the key 'colour'",
    ),
}
