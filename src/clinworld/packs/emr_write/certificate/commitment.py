"""The seed of a certificate, committed to before the first trial is drawn, and the ledger that says which seeds are used up.

The trials of a seed can be judged once: what a checker got wrong on them may have changed it, and then they prove nothing more.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from clinworld.core.digest import digest_bytes, digest_value
from clinworld.core.errors import StampMismatch, StoreError, UsageError
from clinworld.core.store import Appender, read_rows

LEDGER = "commitments.jsonl"
SEED_BITS, LEAST_CHARACTERS, MOST_SEED_BYTES, MOST_SEED_CHARACTERS = 128, 32, 4096, 200
_WHOLE_DIGEST = 64
_KEYS = ("subject", "commitment", "seed_digest", "checker_digest", "plan")

Source = Literal["drawn", "given", "file"]


@dataclass(frozen=True, slots=True)
class Seed:
    """What every draw of a certificate comes from. `shown` is None for one from a file, which is never stored."""

    value: str
    source: Source

    @property
    def shown(self) -> str | None:
        """The seed as a certificate tells it."""
        return None if self.source == "file" else self.value

    @property
    def digest(self) -> str:
        """What a ledger keeps of it."""
        return digest_value(["certificate seed", self.value], length=_WHOLE_DIGEST)

    def commit(self, plan: Mapping[str, Any]) -> str:
        """The digest of seed and plan together: with it written down, neither can be chosen afterwards."""
        return digest_value(["certificate", self.value, plan], length=_WHOLE_DIGEST)


def read_seed(given: str | None, file: Path | None) -> Seed:
    """The seed meant; without one, 128 random bits. Raises UsageError for two, an empty one, and a file with too little or too much."""
    if given is not None and file is not None:
        raise UsageError("--seed-file", "together with --seed", "a certificate has one seed", do="Leave out one of them.")
    if file is not None:
        try:
            with open(file, "rb") as opened:
                content = opened.read(MOST_SEED_BYTES + 1).strip()
        except OSError as problem:
            raise UsageError(f"--seed-file {file}", f"cannot be read ({problem.strerror})", do="Check the path.") from None
        if not LEAST_CHARACTERS <= len(content) <= MOST_SEED_BYTES:
            allowed = f"{LEAST_CHARACTERS} to {MOST_SEED_BYTES:,} random characters are expected"
            raise UsageError(f"--seed-file {file}", f"{len(content):,} characters", allowed, do="Try `openssl rand -hex 32`.")
        return Seed(digest_bytes(b"certificate seed\x00" + content, length=_WHOLE_DIGEST), "file")
    if given is not None and not given.strip():
        raise UsageError("--seed", repr(given), "a whole number or a few words are expected", do="Leave it out for a random one.")
    if given is not None and (len(given.strip()) > MOST_SEED_CHARACTERS or not given.strip().isprintable()):
        found = f"{len(given):,} characters" if len(given) > MOST_SEED_CHARACTERS else repr(given)
        raise UsageError("--seed", found, f"a whole number or words of at most {MOST_SEED_CHARACTERS} printable characters on one line")
    return Seed(secrets.token_hex(SEED_BITS // 8), "drawn") if given is None else Seed(given.strip(), "given")


@dataclass(frozen=True, slots=True)
class Commitment:
    """A line of the ledger that stood on disk before the first trial: which seed and plan, and for which checker.

    `attempt` counts the different commitments of a ledger so far, this one among them. `is_fresh` False: this seed was drawn from before,
    by another checker or to another plan, so no bound may be claimed. `notes` is what was found in the ledger and has to be told.
    """

    value: str
    attempt: int
    is_fresh: bool
    notes: tuple[str, ...] = ()


def write_commitment(
    folder: Path, seed: Seed, plan: Mapping[str, Any], subject: str, checker_digest: str, *, is_regression: bool
) -> Commitment:
    """Write down a commitment in the ledger of a folder, before anything is drawn.

    A seed that was used for the same subject with another checker or another plan is refused with StampMismatch, unless `is_regression`:
    then it may be run, and claims nothing. The same seed, plan and checker again is the same certificate.
    """
    path = folder / LEDGER
    notes = _find_torn_line(path)
    former = [_read_line(path, number, row) for number, row in enumerate(read_rows(path) if path.exists() else (), start=1)]
    own = [row for row in former if row["subject"] == subject]
    value = seed.commit(plan)
    others = [
        row for row in own if row["seed_digest"] == seed.digest and (row["commitment"], row["checker_digest"]) != (value, checker_digest)
    ]
    if others and not is_regression:
        how = f"by checker {others[0]['checker_digest']}" if others[0]["commitment"] == value else "to another plan"
        raise StampMismatch(
            str(path),
            f"this seed was drawn from before, {how}",
            "a bound holds for the first run on a seed only",
            do="Leave --seed out for a fresh one, or add --regression to count without a bound.",
        )
    row = {"subject": subject, "commitment": value, "seed_digest": seed.digest, "checker_digest": checker_digest, "plan": dict(plan)}
    if row not in former:
        with Appender(path) as ledger:
            ledger.add(row)
    listed = list(dict.fromkeys((each["commitment"], each["checker_digest"]) for each in (*own, row)))
    return Commitment(value, 1 + listed.index((value, checker_digest)), not is_regression, notes)


def _find_torn_line(path: Path) -> tuple[str, ...]:
    """What has to be said of a last line that a crash cut: it is dropped, and nobody can tell which seed it was."""
    try:
        raw = path.read_bytes() if path.exists() else b""
    except OSError as problem:
        raise StoreError(str(path), f"cannot be read ({problem.strerror})", do="Choose another --out.") from None
    torn = raw[raw.rfind(b"\n") + 1 :]
    if not torn:
        return ()
    return (f"{path}: its last line was cut off after {len(torn)} bytes and is dropped; no trial is drawn before its line is whole",)


def _read_line(path: Path, number: int, row: Any) -> Mapping[str, Any]:
    if not isinstance(row, dict) or not all(isinstance(row.get(name), dict if name == "plan" else str) for name in _KEYS):
        raise StoreError(f"{path}, line {number}", "not a commitment", f"{', '.join(_KEYS)} are expected", do="Choose another --out.")
    return row
