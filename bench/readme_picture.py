"""Draws docs/patient.svg, the picture of one patient in the README: `python bench/readme_picture.py`. The same bytes every time."""

import sys
from pathlib import Path

from clinworld.cli.target import open_job
from clinworld.core.canary import CANARY
from clinworld.core.rng import Rng
from clinworld.report.page import TEMPLATES, render_timeline
from clinworld.report.timelines import draw_timeline, drawn_from_gold
from clinworld.report.wording import say
from clinworld.run.build import list_cases
from clinworld.run.build_case import build_case

JOB, CASE = "early_warning-20", "EW-10"
TARGET = Path(__file__).parents[1] / "docs" / "patient.svg"


def picture_style() -> str:
    """The page's own colours and picture rules, light and dark."""
    kept: list[str] = []
    keeps = False
    for line in (TEMPLATES / "style.css").read_text(encoding="utf-8").splitlines():
        if line.startswith((":root", "@media (prefers-color-scheme")):
            keeps = True
        elif line.startswith("svg "):
            kept.append(line)
        if keeps:
            kept.append(line)
            keeps = not line.endswith("}")
    return "\n".join([*kept, ".paper{fill:var(--card)}"])


def main() -> int:
    """Build the patient, draw it, write the file."""
    setting, job = open_job(JOB)
    case = next(case for case in list_cases(job, setting.pack, setting.knowledge) if case.case_id == CASE)
    built = build_case(case, job, setting.pack, setting.knowledge, Rng(job.seed))
    assert built.item is not None and built.gold is not None, f"{CASE} was refused: {built.reasons()}"
    title = say("patient:title", "en", case=CASE)
    timeline = draw_timeline(drawn_from_gold(built.item, built.gold), setting.knowledge, "en", title=title)
    text = render_timeline(timeline, "en", style=picture_style())
    assert CANARY in text
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET}: {len(text):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
