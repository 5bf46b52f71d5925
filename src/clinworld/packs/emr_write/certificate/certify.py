"""One certificate from beginning to end: commit to seed and plan, draw the trials, judge them, count, write."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinworld.core.digest import digest_value
from clinworld.core.errors import StoreError, UsageError
from clinworld.core.store import hold_lock, write_json
from clinworld.knowledge.load import Knowledge
from clinworld.packs.emr_write.certificate.build import Counted, Identities, as_json, build_certificate
from clinworld.packs.emr_write.certificate.commitment import Commitment, Seed, write_commitment
from clinworld.packs.emr_write.certificate.digests import digest_checker, digest_contract, digest_generator
from clinworld.packs.emr_write.certificate.draw import Family, draw_trials, list_families, list_right_families
from clinworld.packs.emr_write.certificate.measure import (
    Counts,
    Judged,
    Tally,
    check_store,
    count_policies,
    count_trials,
    judge_with_checker,
    open_store,
)
from clinworld.packs.emr_write.certificate.policies import POLICIES
from clinworld.packs.emr_write.certificate.published import PUBLISHED_RIGHT, count_published, draw_published
from clinworld.packs.emr_write.certificate.settings import whole_setting
from clinworld.packs.emr_write.certificate.shape import CertificateFile
from clinworld.packs.emr_write.certificate.signature import sign_certificate

SUBJECT = "emr_write"
CERTIFICATE = "certificate.json"
FOLDER_LENGTH = 16

Advance = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is drawn: trials of each wrong family, of each right one, and of each trivial policy; in which record system."""

    trials: int
    store: str = "sqlite"

    def __post_init__(self) -> None:
        most = whole_setting("most_trials")
        if not 1 <= self.trials <= most:
            raise UsageError("--trials", f"{self.trials:,}", f"at least 1, at most {most:,}")
        check_store(self.store)

    @property
    def right(self) -> int:
        """Trials of each right family."""
        return self.trials * whole_setting("least_gold")

    @property
    def baselines(self) -> int:
        """Tasks each trivial policy is tried on."""
        return self.trials * whole_setting("baseline_trials")

    def counts(self) -> dict[str, int]:
        """Trials by family."""
        return {family.name: self.right if family.side == "right" else self.trials for family in self.families()}

    def families(self) -> tuple[Family, ...]:
        """Every family, the wrong ones first."""
        return (*list_families(), *list_right_families())

    def total(self) -> int:
        """Verdicts in all, with the labelled cases and the trivial policies."""
        return sum(self.counts().values()) + count_published() + self.baselines * len(POLICIES)

    def as_row(self) -> dict[str, int | str]:
        """The plan as committed to."""
        return {
            "trials": self.trials,
            "right": self.right,
            "baselines": self.baselines,
            "store": self.store,
            "generator": digest_generator(),
        }


@dataclass(frozen=True, slots=True)
class Certified:
    """What a certification made. `surprises` are trials that were not judged as they must be, `notes` what was found on the way."""

    certificate: CertificateFile
    path: Path
    surprises: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0, or 3 when something right was not paid, or something wrong was; what a blind policy earns is a finding and no failure."""
        wrong = () if self.certificate.kind == "decision_pack" else self.certificate.families
        shares = (*wrong, *self.certificate.right, *self.certificate.published)
        return 3 if any(share.count for share in shares) else 0


def certify_checker(
    out: Path,
    plan: Plan,
    seed: Seed,
    knowledge: Knowledge,
    *,
    key: Any = None,
    is_regression: bool = False,
    advance: Advance = lambda: None,
) -> Certified:
    """Certify the checker of this installation and write certificate.json under `out`.

    Raises StampMismatch for a seed that is used up, UsageError for a plan or store there is not.
    """
    folder = make_folder(out / SUBJECT)
    with closing(open_store(plan.store)) as store, hold_lock(folder):
        identity = digest_checker()
        commitment = write_commitment(folder, seed, plan.as_row(), SUBJECT, identity, is_regression=is_regression)
        judge = judge_with_checker(store)
        counts = count_trials(draw_trials(plan.families(), plan.counts(), seed.value, knowledge), judge, advance=advance)
        published = count_trials(draw_published(seed.value), judge, advance=advance)
        baselines = count_policies(plan.baselines, seed.value, store, advance=advance)
        counted = sort_counts(counts, published, baselines)
        identities = Identities(digest_corpus(counts, published), identity, digest_contract(), digest_generator())
        certificate = build_certificate("write_checker", SUBJECT, counted, identities, seed, commitment, plan.as_row())
        return write_certificate(folder, certificate, commitment, key, list_surprises(counts, published))


def redraw_corpus(certificate: CertificateFile, knowledge: Knowledge) -> str:
    """The digest of the trials of a certificate's seed and plan, drawn anew. Raises UsageError for a seed that is kept back."""
    if certificate.seed.value is None:
        raise UsageError("--redraw", "a certificate whose seed is kept back", "a seed in the file is needed", do="Ask the issuer for it.")
    plan = Plan(int(certificate.plan["trials"]), str(certificate.plan["store"]))
    seed = Seed(certificate.seed.value, certificate.seed.source)
    counts = count_trials(draw_trials(plan.families(), plan.counts(), seed.value, knowledge), lambda _: Judged(None))
    return digest_corpus(counts, count_trials(draw_published(seed.value), lambda _: Judged(None)))


def write_certificate(
    folder: Path, certificate: CertificateFile, commitment: Commitment, key: Any, surprises: Sequence[str] = ()
) -> Certified:
    """Sign where there is a key, and write the file into a folder named after the commitment; nothing overwrites another certificate."""
    signed = certificate if key is None else sign_certificate(certificate, key)
    name = commitment.value[:FOLDER_LENGTH]
    if certificate.kind == "other_checker" or certificate.claim == "regression":
        name += f"-{certificate.kind}-{certificate.claim}-{certificate.checker_digest[:FOLDER_LENGTH]}"
    target = make_folder(folder / name)
    path = target / CERTIFICATE
    write_json(path, as_json(signed))
    return Certified(signed, path, tuple(surprises), commitment.notes)


def make_folder(folder: Path) -> Path:
    """The folder, made with those above it. Raises StoreError where it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreError(str(folder), f"cannot be made ({problem.strerror})", do="Choose another --out.") from None
    return folder


def sort_counts(counts: Counts, published: Counts, baselines: Mapping[str, Tally]) -> Counted:
    """The tallies by what they must come to."""
    right = {family.name for family in list_right_families()}
    return Counted(
        families={name: tally for name, tally in counts.tallies.items() if name not in right},
        right={name: tally for name, tally in counts.tallies.items() if name in right},
        published=published.tallies,
        baselines=baselines,
        published_right=(PUBLISHED_RIGHT,),
    )


def digest_corpus(*counts: Counts) -> str:
    """Everything drawn, in one digest."""
    return digest_value([each.corpus_digest for each in counts], length=32)


def list_surprises(*counts: Counts) -> tuple[str, ...]:
    """Trials that were not judged as they must be, a few of each family."""
    return tuple(line for each in counts for tally in each.tallies.values() for line in tally.surprises)
