"""`clinworld certificate`."""

from collections.abc import Mapping
from pathlib import Path

from clinworld.cli.console import Console
from clinworld.cli.target import check_language
from clinworld.core.errors import PackError, UsageError, allowed_values, nearest_match
from clinworld.knowledge.load import load_knowledge
from clinworld.packs.emr_write.certificate.build import as_json
from clinworld.packs.emr_write.certificate.certify import redraw_corpus
from clinworld.packs.emr_write.certificate.check import Checked, check_certificate, read_certificate
from clinworld.packs.emr_write.certificate.digests import digest_checker, digest_contract, digest_generator
from clinworld.packs.emr_write.certificate.explain import explain_certificate
from clinworld.packs.emr_write.certificate.shape import CertificateFile
from clinworld.packs.load import load_pack
from clinworld.run.certify_pack import digest_pack

ACTIONS = ("check", "explain")


def certificate(
    action: str,
    file: Path,
    /,
    *,
    language: str | None = None,
    redraw: bool = False,
    pack: tuple[Path, ...] = (),
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Check a certificate file, or explain it in plain words.

    check: its form, every bound from its counts, its signature, and whether it holds for what is installed here. Exit code 0 good, 3 bad,
    5 when checker, payment or generator differ. explain: says first whether the file is as it says, and ends with 3 where it is not.

    Parameters
    ----------
    action
        check or explain.
    file
        A certificate.json.
    language
        en or zh, the language of the explanation.
    redraw
        Draw the trials of the certificate's seed again and compare them too. Takes about as long as certifying did.
    pack
        A pack folder from outside the package; may be given several times.
    json
        One JSON document on standard output, nothing else.
    quiet
        Only the last line, and errors.
    """
    console = Console(as_json=json, quiet=quiet)
    if action not in ACTIONS:
        raise UsageError("certificate", repr(action), allowed_values(ACTIONS), nearest=nearest_match(action, ACTIONS))
    if action == "explain" and (redraw or pack):
        raise UsageError("certificate explain", "together with --redraw or --pack", "those are for check", do="Leave them out.")
    if action == "check" and language is not None:
        raise UsageError("certificate check", "together with --language", "that is for explain", do="Leave it out.")
    in_language = check_language(language or "en")
    found = read_certificate(file)
    checked = check_certificate(found, {})
    if action == "explain":
        page = explain_certificate(checked, in_language)
        console.finish(page.rstrip("\n"), {"page": page, "bad": checked.bad, "exit_code": checked.exit_code})
        return checked.exit_code
    if not checked.bad:  # what a bad file holds for is no question
        checked = check_certificate(found, read_current(found, pack, redraw=redraw))
    show(checked, console)
    document = {"bad": checked.bad, "stale": checked.stale, "notes": checked.notes, "exit_code": checked.exit_code}
    console.finish(f"{checked.line()} {file}", {"path": str(file), **document, "certificate": as_json(found)})
    return checked.exit_code


def show(checked: Checked, console: Console) -> None:
    """Say what was found, the bad first."""
    for word, lines in (("bad", checked.bad), ("stale", checked.stale), ("note", checked.notes)):
        for line in lines:
            console.tell(f"{word}: {line}")


def read_current(found: CertificateFile, packs: tuple[Path, ...], *, redraw: bool) -> Mapping[str, str]:
    """What this installation has in place of the certificate's digests, by key; what it cannot have is left out."""
    current: dict[str, str] = {}
    if found.kind == "decision_pack":
        if redraw:
            raise UsageError("--redraw", "a decision pack", "certificates of emr_write can be drawn again", do="Leave it out.")
        try:
            loaded = load_pack(found.subject, extra_dirs=packs)
        except PackError as problem:
            raise UsageError(f"certificate of {found.subject}", problem.found, problem.allowed, do="Add its folder with --pack.") from None
        here = digest_pack(loaded)
        return {"checker_digest": here.checker, "contract_digest": here.contract, "generator_digest": here.generator}
    if found.kind == "write_checker":
        current["checker_digest"] = digest_checker()
    current |= {"contract_digest": digest_contract(), "generator_digest": digest_generator()}
    if redraw:
        current["corpus_digest"] = redraw_corpus(found, load_knowledge())
    return current
