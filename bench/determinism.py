"""The same bytes alone, in a batch, reordered, with 1 and 2 workers, and on every Python from 3.11 that is found."""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import CACHE, ROOT, clinworld_bin, print_table, save

FILES = ("items.jsonl", "gold.jsonl")
JOBS = ("example-ew", "early_warning-20", "example-tr")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def build(program: list[str], job: str, out: Path, *more: str) -> dict[str, list[str]]:
    """Rows of the batch a build makes, by file."""
    done = subprocess.run([*program, "build", job, "--out", str(out), "--json", *more], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        raise SystemExit(f"{program} build {job}: exit {done.returncode}\n{done.stderr}")
    batch = Path(json.loads(done.stdout)["batch"])
    return {name: (batch / name).read_text().splitlines() for name in FILES}


def digest(rows: dict[str, list[str]], *, in_order: bool = True) -> str:
    """Digest of all rows, as they stand or sorted."""
    text = "\n".join("\n".join(lines if in_order else sorted(lines)) for lines in rows.values())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_python(version: str) -> Path | None:
    """A working interpreter of a version: on the path, or among those pyenv keeps."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python{version}"))
    for path in [shutil.which(f"python{version}"), *kept]:
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return Path(path)
    return None


def pythons() -> tuple[dict[str, Path], list[str]]:
    """(version → the interpreter of a kept environment with ClinWorld installed, versions that were not found)."""
    found: dict[str, Path] = {}
    missing = []
    for version in VERSIONS:
        path = find_python(version)
        if path is None:
            missing.append(version)
            continue
        folder = CACHE / f"python{version}"
        python = folder / "bin" / "python"
        if not python.exists():
            subprocess.run([str(path), "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", str(ROOT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", str(ROOT)], check=True)
        found[version] = python
    return found, missing


def main() -> None:
    here = [str(clinworld_bin() / "clinworld")]
    rows = []
    found, missing = pythons()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        for job in JOBS:
            base = build(here, job, out / "base")
            rows.append((job, "as it is", digest(base), "base"))
            again = build(here, job, out / "again")
            rows.append((job, "another process", digest(again), digest(again) == digest(base)))
            two = build(here, job, out / "two", "--workers", "2")
            rows.append((job, "2 workers", digest(two), digest(two) == digest(base)))
            for version, python in found.items():
                other = build([str(python), "-m", "clinworld"], job, out / version)
                rows.append((job, f"Python {version}", digest(other), digest(other) == digest(base)))
        rows += reordered(here, out)
    print_table(("job", "built", "digest", "equal"), rows)
    print(f"\nPython versions run: {', '.join(found) or 'none'}; not found, so not run: {', '.join(missing) or 'none'}")
    equal = all(row[3] in (True, "base") for row in rows)
    save("determinism", {"rows": rows, "all_equal": equal, "versions_run": list(found), "versions_not_run": missing})
    sys.exit(0 if equal else 1)


def reordered(program: list[str], out: Path) -> list[tuple[str, str, str, object]]:
    """A job with its cases reversed, and each case alone, beside the job as it is."""
    import yaml

    source = ROOT / "src" / "clinworld" / "jobs" / "example-ew.yaml"
    job = yaml.safe_load(source.read_text())
    base = build(program, str(source), out / "order")
    path = out / "reversed.yaml"
    path.write_text(yaml.safe_dump({**job, "cases": job["cases"][::-1]}, allow_unicode=True))
    other = build(program, str(path), out / "reversed")
    rows: list[tuple[str, str, str, object]] = [
        ("example-ew", "reversed order", digest(other, in_order=False), digest(other, in_order=False) == digest(base, in_order=False))
    ]
    alone: dict[str, list[str]] = {name: [] for name in FILES}
    for i, case in enumerate(job["cases"]):
        path = out / f"alone{i}.yaml"
        path.write_text(yaml.safe_dump({**job, "cases": [case]}, allow_unicode=True))
        built = build(program, str(path), out / f"alone{i}") if i < 3 else {name: [] for name in FILES}
        for name in FILES:
            alone[name] += built[name]
    rows.append(("example-ew", "each case alone", digest(alone), digest(alone) == digest(base)))
    return rows


if __name__ == "__main__":
    main()
