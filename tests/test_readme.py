"""Every block of the two READMEs runs as printed, and every link in them and in docs/ leads somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clinworld.knowledge.load import load_knowledge

ROOT = Path(__file__).resolve().parents[1]
READMES = ("README.md", "README.zh.md")
PAGES = sorted(
    [ROOT / name for name in READMES] + list((ROOT / "docs").glob("*.md")) + [ROOT / "bench" / "README.md", ROOT / "CONTRIBUTING.md"]
)
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def blocks(name: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))


def test_the_set_up_commands_are_the_ones_ci_runs():
    ci = (ROOT / ".ci" / "run").read_text()
    for name in READMES:
        set_up = blocks(name)[0][1].splitlines()
        assert len(set_up) == 2
        assert "-m pip install -q " in ci and "clinworld demo" in ci and "-e '.[dev]'" in ci and "scripts/check" in ci
        assert set_up == ["python -m pip install . && clinworld demo", "python -m pip install -e '.[dev]' && python -m pytest"]


@pytest.mark.parametrize("name", READMES)
def test_no_more_knowledge_is_claimed_than_there_is(name):
    knowledge = load_knowledge()
    claim = next(line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if "110" in line)
    stated = [int(number) for number in re.findall(r"\d+", claim)]
    described = [key for key in knowledge.conditions if not knowledge.conditions[key].is_name_only]
    there = [len(described), *(len(knowledge.table(kind)) for kind in ("drugs", "analytes", "tests", "protocols"))]
    assert len(stated) == len(there)
    assert all(number < count for number, count in zip(stated, there, strict=True)), dict(zip(stated, there, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", READMES)
def test_every_further_block_runs_as_printed(name, tmp_path):
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for kind, text in blocks(name)[1:]:
        if kind == "yaml":
            (tmp_path / "my-job.yaml").write_text(text, encoding="utf-8")
        elif kind == "python":
            (tmp_path / "my_agent.py").write_text(text, encoding="utf-8")
        else:
            assert kind == "bash"
            for line in text.splitlines():
                done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True)
                assert done.returncode == 0, f"{line}\n{done.stdout[-800:]}\n{done.stderr[-800:]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_no_link_is_broken(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
