"""Claims about the package as a whole: what importing does, what start-up costs, where the canary stands, what must not be in a file."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import clinworld
from clinworld.core.canary import CANARY

PACKAGE = Path(clinworld.__file__).parent
ROOT = PACKAGE.parents[1]
SOURCES = sorted(PACKAGE.rglob("*.py"))
HEAVY = ("scipy", "sklearn", "pydantic", "numpy", "jinja2", "pyarrow", "pandas")


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_loads_no_heavy_library():
    loaded = python(
        "import sys\nfrom clinworld.cli.main import main\n"
        "import contextlib, io\n"
        "with contextlib.redirect_stdout(io.StringIO()): main(['--help'])\n"
        "print(' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    ).split()
    assert not set(HEAVY) & set(loaded)


def test_build_loads_neither_statistics_nor_models(tmp_path):
    code = (
        "import sys\nfrom clinworld.cli.main import main\n"
        f"code = main(['build', 'example-ew', '--out', {str(tmp_path)!r}, '--quiet'])\n"
        "print(code, ' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    code_and_modules = python(code).split("\n")[-2].split()
    assert code_and_modules[0] == "0"
    assert not {"scipy", "sklearn", "pydantic", "jinja2"} & set(code_and_modules)


@pytest.mark.slow
def test_importing_every_module_reads_registers_and_prints_nothing():
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__") for path in SOURCES]
    names = [name for name in names if not name.endswith("__main__")]
    code = f"""
import builtins, io, os
opened = []
real = io.open
def spy(file, *a, **k):
    if {str(PACKAGE)!r} in str(file) and not str(file).endswith(('.py', '.pyc')): opened.append(str(file))
    return real(file, *a, **k)
builtins.open = io.open = spy
import importlib
for name in {names!r}: importlib.import_module(name)
print(opened)
"""
    assert python(code).strip() == "[]"


def test_no_clinical_wording_in_chinese_stands_in_code():
    assert len(SOURCES) > 400 and [str(path) for path in SOURCES if re.search(r"[一-鿿]", path.read_text(encoding="utf-8"))] == []


def answer_bearing_files() -> list[Path]:
    packs = [path for path in (PACKAGE / "packs").rglob("*") if path.name in ("pack.yaml", "controls.jsonl")]
    return sorted([*(PACKAGE / "jobs").glob("*.yaml"), *packs])


@pytest.mark.parametrize("path", answer_bearing_files(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_every_answer_bearing_file_carries_the_canary(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        assert all(CANARY in line for line in text.splitlines())
    assert CANARY in text


def test_no_prompt_file_carries_the_canary():
    prompts = list((PACKAGE / "packs").rglob("*.md"))
    assert prompts and not [path for path in prompts if CANARY in path.read_text(encoding="utf-8")]


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_tracked_file_names_a_machine_path():
    pattern = re.compile(r"/(?:work|farm|root)/(?!\*)")
    hits = [path.name for path in tracked() if path.suffix in (".py", ".md", ".toml", ".yaml", ".csv", ".json") and path != Path(__file__)
            and pattern.search(path.read_text(encoding="utf-8", errors="ignore"))]  # fmt: skip
    assert hits == []
