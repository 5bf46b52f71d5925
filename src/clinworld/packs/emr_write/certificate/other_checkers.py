"""A checker of somebody else's: what it may look at, and what its verdicts are worth.

On the kept counterexamples it is scored without a bound, for they were searched for; on the trials of a seed it gets a certificate.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from clinworld.core.canary import CANARY
from clinworld.core.digest import digest_value
from clinworld.core.errors import StoreError, nearest_match
from clinworld.core.store import hold_lock
from clinworld.knowledge.load import Knowledge
from clinworld.packs.emr_write.certificate.build import Identities, build_certificate
from clinworld.packs.emr_write.certificate.certify import (
    SUBJECT,
    Advance,
    Certified,
    Plan,
    digest_corpus,
    list_surprises,
    make_folder,
    sort_counts,
    write_certificate,
)
from clinworld.packs.emr_write.certificate.commitment import Seed, write_commitment
from clinworld.packs.emr_write.certificate.digests import digest_contract, digest_generator
from clinworld.packs.emr_write.certificate.draw import Trial, draw_trials
from clinworld.packs.emr_write.certificate.export import show_trial
from clinworld.packs.emr_write.certificate.measure import Judge, Judged, count_trials, open_store
from clinworld.packs.emr_write.certificate.published import draw_published
from clinworld.packs.emr_write.search.corpus import read_corpus
from clinworld.packs.emr_write.search.score_checker import list_shown, show_case
from clinworld.packs.emr_write.store.rows import encode_json

CASES, TRIALS = "cases.jsonl", "trials.jsonl"
MOST_NAME = 200


def certify_verdicts(
    out: Path,
    name: str,
    paid: Mapping[str, Any],
    plan: Plan,
    seed: Seed,
    knowledge: Knowledge,
    *,
    key: Any = None,
    is_regression: bool = False,
) -> Certified:
    """Certify a checker of somebody else's by what it paid on the trials of a seed.

    Raises StoreError for a trial left out, one there is not, or a verdict that is none of true, false and null.
    """
    if not name.isprintable():
        raise StoreError("name", repr(name[:40]), "printable characters on one line", do="Give the checker a plain name.")
    if len(name) > MOST_NAME:
        raise StoreError("name", f"{len(name):,} characters", f"at most {MOST_NAME}", do="Give the checker a short name.")
    for trial, verdict in paid.items():
        if verdict is not None and not isinstance(verdict, bool):
            raise StoreError(f"paid, {trial[:40]!r}", repr(verdict)[:80], "true, false, or null for unscored is expected")
        if not trial.isascii():
            raise StoreError("paid", f"no trial {trial[:40]!r} under this seed and plan", do="Export again.")
    folder = make_folder(out / SUBJECT)
    identity = digest_value({"name": name, "paid": dict(paid)}, length=32)
    judge, waiting = _judge_from(paid)
    counts = count_trials(draw_trials(plan.families(), plan.counts(), seed.value, knowledge), judge)
    published = count_trials(draw_published(seed.value), judge)
    if waiting:
        known = [row[0] for row in (*counts.identities, *published.identities)]
        unknown = next(iter(waiting))
        raise StoreError(
            "paid", f"no trial {unknown!r} under this seed and plan", nearest=nearest_match(unknown, known), do="Export again."
        )
    with hold_lock(folder):
        commitment = write_commitment(folder, seed, plan.as_row(), f"other checker: {name}", identity, is_regression=is_regression)
        counted = sort_counts(counts, published, {})
        identities = Identities(digest_corpus(counts, published), identity, digest_contract(), digest_generator())
        certificate = build_certificate("other_checker", name, counted, identities, seed, commitment, plan.as_row())
        return write_certificate(folder, certificate, commitment, key, list_surprises(counts, published))


def _judge_from(paid: Mapping[str, Any]) -> tuple[Judge, dict[str, Any]]:
    """A judge that looks verdicts up, and those that were not asked for so far."""
    waiting = dict(paid)

    def judge(trial: Trial) -> Judged:
        if trial.trial_id not in waiting:
            raise StoreError(
                "paid", f"trial {trial.trial_id!r} has no verdict", "each trial has one", do="Export again with the same seed."
            )
        return Judged(waiting.pop(trial.trial_id))

    return judge, waiting


def export_corpora(out: Path, plan: Plan, seed: Seed, knowledge: Knowledge, *, advance: Advance = lambda: None) -> tuple[Path, int, int]:
    """Write what a checker may look at: the kept counterexamples, and the trials of a seed. Where, and how many lines of each.

    Neither says what is right, and no id and no place in the order names a family; the canary stands first.
    """
    folder = make_folder(out / SUBJECT / "exported")
    with closing(open_store(plan.store)) as store, hold_lock(folder):
        cases = _write(folder / CASES, (show_case(store, line) for line in list_shown()))
        trials = _write(folder / TRIALS, (show_trial(store, trial) for trial in _draw_all(plan, seed, knowledge, advance)))
        _sort_lines(folder / TRIALS, "trial")
    return folder, cases, trials


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(encode_json({"canary": CANARY}) + "\n")
            for count, row in enumerate(rows, start=1):  # noqa: B007 - the last number is the result
                file.write(encode_json(row) + "\n")
    except OSError as problem:
        raise StoreError(str(path), f"cannot be written ({problem.strerror})", do="Choose another --out.") from None
    return count


def _sort_lines(path: Path, key: str) -> None:
    """Put the lines of a file in the order of their ids; the first stays. Trials are drawn family by family, which must not show."""
    try:
        with open(path, "rb") as file:
            places, first = [], file.readline()
            at = len(first)
            for line in file:
                places.append((orjson.loads(line)[key], at, len(line)))
                at += len(line)
            with open(path.with_suffix(".sorted"), "wb") as ordered:
                ordered.write(first)
                for _, start, length in sorted(places):
                    file.seek(start)
                    ordered.write(file.read(length))
        path.with_suffix(".sorted").replace(path)
    except OSError as problem:
        raise StoreError(str(path), f"cannot be written ({problem.strerror})", do="Choose another --out.") from None


def _draw_all(plan: Plan, seed: Seed, knowledge: Knowledge, advance: Advance) -> Iterator[Trial]:
    for trial in draw_published(seed.value):
        advance()
        yield trial
    for trial in draw_trials(plan.families(), plan.counts(), seed.value, knowledge):
        advance()
        yield trial


def is_about_cases(paid: Mapping[str, Any]) -> bool:
    """True for verdicts on the kept counterexamples, False for verdicts on trials."""
    return any(line.shown_id in paid for line in read_corpus())
