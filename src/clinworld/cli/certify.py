"""`clinworld certify`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clinworld.cli.console import Console, progress
from clinworld.cli.target import OutFolder, WholeNumber, check_language
from clinworld.core.errors import UsageError, allowed_values, nearest_match
from clinworld.knowledge.load import load_knowledge
from clinworld.packs.emr_write.certificate.bounds import print_up, trials_needed
from clinworld.packs.emr_write.certificate.build import as_json
from clinworld.packs.emr_write.certificate.certify import SUBJECT, Certified, Plan, certify_checker
from clinworld.packs.emr_write.certificate.commitment import Seed, read_seed
from clinworld.packs.emr_write.certificate.other_checkers import certify_verdicts, export_corpora, is_about_cases
from clinworld.packs.emr_write.certificate.settings import setting, whole_setting
from clinworld.packs.emr_write.certificate.shape import CertificateFile
from clinworld.packs.emr_write.certificate.signature import load_key
from clinworld.packs.emr_write.search.score_checker import read_verdicts, score
from clinworld.packs.load import load_pack, pack_folders
from clinworld.run.certify_pack import PackPlan, certify_pack

BAD = 3
_HALF = 1 / 2
MOST_TOLD = 8


def certify(
    name: str,
    /,
    *,
    trials: WholeNumber | None = None,
    items: WholeNumber | None = None,
    seed: str | None = None,
    seed_file: Path | None = None,
    sign: Path | None = None,
    out: OutFolder = Path("artifacts/certificates"),
    store: str | None = None,
    verdicts: Path | None = None,
    export: bool = False,
    regression: bool = False,
    language: str | None = None,
    pack: tuple[Path, ...] = (),
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Count how often a reward can be fooled, and certify an exact bound on it.

    emr_write: draws of every family of faults, run on a record system; exit code 3 when a wrong write was paid or a right one refused.
    A decision pack: policies that never read the record; exit code 3 when the oracle is not paid on every item.

    Parameters
    ----------
    name
        emr_write, or a decision pack.
    trials
        Draws of each family of faults, and three times as many right writes. The default is small; what it bounds is said.
    items
        Items of a decision pack.
    seed
        A whole number or a few words that decide every draw; random where it is left out. A seed can be used once.
    seed_file
        A file with at least 32 random characters, for a seed that is not told.
    sign
        A file with an Ed25519 private key to sign with; it is never stored.
    out
        The folder certificates go under, with the ledger of seeds that were used.
    store
        The record system: sqlite.
    verdicts
        A JSON file with the verdicts of another checker, on the exported cases or on the exported trials of the same seed.
    export
        Write what another checker may look at, and certify nothing: cases.jsonl and trials.jsonl.
    regression
        Count on a seed that was used before, which has to be named; no bound is claimed.
    language
        en or zh, for the items of a decision pack.
    pack
        A pack folder from outside the package; may be given several times.
    json
        One JSON document on standard output, nothing else.
    quiet
        Only the last line, and errors.
    """
    console = Console(as_json=json, quiet=quiet)
    if regression and seed is None and seed_file is None:
        found = "without a seed: a fresh one was never used before"
        raise UsageError("--regression", found, "the seed to count on again", do="Add --seed or --seed-file, or leave out --regression.")
    if name != SUBJECT:
        known = (SUBJECT, *pack_folders(pack))
        if name not in known:
            raise UsageError("certify", f"no pack {name!r}", allowed_values(known, most=20), nearest=nearest_match(name, known))
        refuse_options(name, {"--trials": trials, "--store": store, "--verdicts": verdicts, "--export": export or None})
        key = load_key(sign) if sign else None
        plan = PackPlan(default(items, "items"), check_language(language or "en"), whole_setting("items_to_choose_on"))
        with progress("items", plan.items + plan.chosen_on, quiet=quiet or json) as shown:
            done = certify_pack(
                out,
                load_pack(name, extra_dirs=pack),
                plan,
                read_seed(seed, seed_file),
                load_knowledge(),
                key=key,
                is_regression=regression,
                advance=shown.step,
            )
        return finish(done, console, plan.items, "--items")
    refuse_options(name, {"--items": items, "--language": language, "--pack": pack or None})
    write_plan = Plan(default(trials, "trials"), store or "sqlite")
    if export:
        refuse_options("--export", {"--verdicts": verdicts, "--sign": sign, "--regression": regression or None})
        return export_files(out, write_plan, read_seed(seed, seed_file), console)
    key = load_key(sign) if sign else None
    if verdicts is not None:
        given = read_verdicts(verdicts)
        if is_about_cases(given.paid):
            refuse_options("--verdicts", {"--seed": seed, "--seed-file": seed_file, "--sign": sign, "--trials": trials})
            return score_cases(given.name, given.paid, console)
        if seed is None and seed_file is None:
            raise UsageError("--verdicts", "trials without their seed", "the seed they were exported with is needed", do="Add --seed.")
        chosen = read_seed(seed, seed_file)
        done = certify_verdicts(out, given.name, given.paid, write_plan, chosen, load_knowledge(), key=key, is_regression=regression)
    else:
        with progress("trials", write_plan.total(), quiet=quiet or json) as shown:
            chosen = read_seed(seed, seed_file)
            done = certify_checker(out, write_plan, chosen, load_knowledge(), key=key, is_regression=regression, advance=shown.step)
    return finish(done, console, write_plan.trials, "--trials")


def default(given: int | None, name: str) -> int:
    """A number that was given, or the one in the table of settings."""
    return whole_setting(name) if given is None else given


def refuse_options(name: str, options: Mapping[str, object]) -> None:
    """Raises UsageError for options that say nothing to what is certified."""
    given = [option for option, value in options.items() if value is not None]
    if given:
        raise UsageError(", ".join(given), f"not for {name}", do="Leave it out; see `clinworld certify --help`.")


def export_files(out: Path, plan: Plan, seed: Seed, console: Console) -> int:
    """Write the two corpora for another checker."""
    with progress("trials", sum(plan.counts().values()), quiet=console.quiet or console.as_json) as shown:
        folder, cases, trials = export_corpora(out, plan, seed, load_knowledge(), advance=shown.step)
    told = "a seed from a file" if seed.shown is None else f"seed {seed.shown}"
    console.say(f"  Judge them and hand the verdicts back with --verdicts; the trials with --trials {plan.trials} and {told}.")
    document = {"folder": str(folder), "cases": cases, "trials": trials, "seed": seed.shown, "trials_a_family": plan.trials}
    console.finish(f"Exported {cases:,} cases and {trials:,} trials of {told}: {folder}", document)
    return 0


def score_cases(name: str, paid: Mapping[str, Any], console: Console) -> int:
    """Score another checker on the kept counterexamples."""
    scored = score(paid)
    for line in scored.show():
        console.say(f"  {line}")
    document = {
        "checker": name,
        "paid_wrong": scored.paid_wrong,
        "refused_right": scored.refused_right,
        "wrong": scored.wrong,
        "right": scored.right,
        "unscored": scored.unscored,
        "exit_code": 0 if scored.is_sound else BAD,
    }
    told = f"{len(scored.paid_wrong)} of {scored.wrong} wrong cases paid"
    counts = f"{told}, {len(scored.refused_right)} of {scored.right} right ones refused, {scored.unscored} left unscored"
    console.finish(f"Scored {name}: {counts}. No bound: these cases were searched for.", document)
    return 0 if scored.is_sound else BAD


def finish(done: Certified, console: Console, count: int, option: str) -> int:
    """Say what was found, what it bounds, and where the certificate is."""
    certificate = done.certificate
    for line in (*done.notes, *done.surprises[:MOST_TOLD]):
        console.tell(line)
    if len(done.surprises) > MOST_TOLD:
        console.say(f"  and {len(done.surprises) - MOST_TOLD} more")
    if certificate.kind == "decision_pack":
        for share in sorted(certificate.families, key=lambda each: -each.count)[:MOST_TOLD]:
            console.say(f"  {share.count:,} of {share.trials:,} items paid: {share.name}")
    else:
        counted = [(each, each.bound_simultaneous) for each in certificate.families]
        counted += [(each, each.bound) for each in certificate.published]
        console.table([(each.name, f"{each.count:,} of {each.trials:,}", _up(bound)) for each, bound in counted])
    if certificate.kind == "decision_pack" and certificate.epsilon is not None:
        for line in _warn(certificate, count):
            console.tell(line)
    console.finish(
        f"{_say_result(done, count, option)} {done.path}", {"path": str(done.path), **as_json(certificate), "exit_code": done.exit_code}
    )
    return done.exit_code


def _warn(certificate: CertificateFile, items: int) -> Iterator[str]:
    """What has to be said of few items, and of a pack that a blind policy is paid on more often than not."""
    needed = trials_needed(_HALF, certificate.delta / len(certificate.families))
    if items < needed:
        yield f"{items} items bound nothing: no bound comes below one half, whatever is earned, with fewer than {needed} (--items {needed})"
    best = max(certificate.families, key=lambda each: each.count)
    if 2 * best.count > best.trials:
        yield (
            f"{best.name} reads nothing and is paid on {best.count:,} of {best.trials:,} items: "
            "do not train on this rule of payment item by item; judge a batch as `report` does"
        )


def _up(bound: float | None) -> str:
    return "no bound claimed" if bound is None else f"at most {print_up(bound)}"


def _say_result(done: Certified, count: int, option: str) -> str:
    certificate = done.certificate
    paid, of = sum(each.count for each in certificate.families), sum(each.trials for each in certificate.families)
    refused, right = sum(each.count for each in certificate.right), sum(each.trials for each in certificate.right)
    if certificate.kind == "decision_pack":
        best = max(certificate.families, key=lambda each: each.count)
        told = f"best of {len(certificate.families)} blind policies paid on {best.count:,} of {best.trials:,} items ({best.name})"
    else:
        told = f"{paid:,} of {of:,} wrong writes paid"
    told += f", {refused:,} of {right:,} right ones refused; "
    if certificate.epsilon is None:
        return f"Counted {certificate.subject}: {told}no bound is claimed in a regression run:"
    bound = f"each of {len(certificate.families)} families {_up(certificate.epsilon)}, all at once"
    wanted, alpha = setting("epsilon_wanted"), certificate.delta / len(certificate.families)
    needed = trials_needed(wanted, alpha)
    if certificate.kind != "decision_pack" and not paid and count < needed:
        bound += f" ({option} {needed} for {print_up(wanted)})"
    return f"Certified {certificate.subject}: {told}{bound}:"
