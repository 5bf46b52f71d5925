"""Runs trials and counts. A trial is paid or not; one that cannot be scored is not paid, and is counted apart as well."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from clinworld.core.digest import digest_value
from clinworld.core.errors import UsageError, allowed_values, nearest_match
from clinworld.packs.emr_write.certificate.draw import Trial, show_identity
from clinworld.packs.emr_write.certificate.policies import POLICIES, draw_replies
from clinworld.packs.emr_write.certificate.settings import whole_setting
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.faults.registry import find_server_faults
from clinworld.packs.emr_write.faults.server import wrap_store
from clinworld.packs.emr_write.store.chart import draw_bulk
from clinworld.packs.emr_write.store.protocol import SeedRow, Store
from clinworld.packs.emr_write.store.sqlite import SqliteStore

STORES: Mapping[str, Callable[[tuple[SeedRow, ...]], Store]] = {"sqlite": SqliteStore}


class Judged(NamedTuple):
    """What a checker says of a trial. `paid` None is unscored; `outcome` is "" for a checker that names none."""

    paid: bool | None
    outcome: str = ""
    witnesses: tuple[str, ...] = ()


Judge = Callable[[Trial], Judged]


@dataclass
class Tally:
    """Counts over the trials of one family. `surprises` are trials that were not judged as they must be, at most a few."""

    trials: int = 0
    paid: int = 0
    unscored: int = 0
    other_outcome: int = 0
    clusters: Counter[str] = field(default_factory=Counter)
    paid_clusters: Counter[str] = field(default_factory=Counter)
    shapes: set[str] = field(default_factory=set)
    witnesses: Counter[str] = field(default_factory=Counter)
    surprises: list[str] = field(default_factory=list)


@dataclass
class Counts:
    """Tallies by family, and the digest of what was drawn."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    identities: list[list[str]] = field(default_factory=list)

    @property
    def corpus_digest(self) -> str:
        """The trials drawn, in one digest."""
        return digest_value(self.identities, length=32)


def check_store(name: str) -> None:
    """Raises UsageError for a record system there is not."""
    if name not in STORES:
        raise UsageError("--store", repr(name), allowed_values(STORES), nearest=nearest_match(name, STORES))


def open_store(name: str) -> Store:
    """A record system of `STORES` with other patients' rows in it."""
    return STORES[name](draw_bulk(seed=1, rows=whole_setting("chart_rows")))


def judge_with_checker(store: Store) -> Judge:
    """Our checker: the trial is run on a record system."""

    def judge(trial: Trial) -> Judged:
        system = wrap_store(store, find_server_faults(trial.server_faults))
        verdict = run_report(system, trial.task, trial.text)
        passed = tuple(name for name, is_passed in verdict.witnesses.items() if is_passed)
        return Judged(None if verdict.reward is None else verdict.reward == 1.0, verdict.outcome, passed)

    return judge


def count_trials(trials: Iterable[Trial], judge: Judge, *, most_told: int = 5, advance: Callable[[], None] = lambda: None) -> Counts:
    """The counts over all trials."""
    counts = Counts()
    for trial in trials:
        counts.identities.append(show_identity(trial))
        add_trial(counts.tallies.setdefault(trial.family, Tally()), trial, judge(trial), most_told)
        advance()
    return counts


def add_trial(tally: Tally, trial: Trial, judged: Judged, most_told: int) -> None:
    """Counts one trial."""
    is_paid = judged.paid is True
    tally.trials += 1
    tally.paid += is_paid
    tally.unscored += judged.paid is None
    tally.clusters[trial.template] += 1
    tally.paid_clusters[trial.template] += is_paid
    tally.shapes.add(trial.shape)
    tally.witnesses.update(judged.witnesses)
    is_other = bool(judged.outcome) and judged.outcome != trial.expected
    tally.other_outcome += is_other
    if (is_other or is_paid != trial.is_right) and len(tally.surprises) < most_told:
        tally.surprises.append(f"{trial.trial_id} ({trial.template}): {judged.outcome or judged.paid}, must be {trial.expected}")


def count_policies(count: int, seed: str, store: Store, *, advance: Callable[[], None] = lambda: None) -> dict[str, Tally]:
    """What each trivial policy earns on the same drawn decision tasks."""
    tallies = {name: Tally() for name in POLICIES}
    for name, task, text in draw_replies(count, seed):
        verdict = run_report(store, task, text)
        tallies[name].trials += 1
        tallies[name].paid += verdict.reward == 1.0
        tallies[name].unscored += verdict.reward is None
        advance()
    return tallies
