"""Is a certificate file what it says? Its form, its own digest, every bound from its counts, its signature, and what it still holds for.

Nothing is believed that can be worked out. What cannot be is the counts themselves: those are repeated with the seed, or signed for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from clinworld import __version__
from clinworld.core.errors import StoreError
from clinworld.packs.emr_write.certificate.build import derive_rest, digest_certificate
from clinworld.packs.emr_write.certificate.commitment import Seed
from clinworld.packs.emr_write.certificate.shape import CertificateFile
from clinworld.packs.emr_write.certificate.signature import is_signature_good

GOOD, BAD, STALE = 0, 3, 5
MOST_PROBLEMS = 8
_MOST_BYTES = 5_000_000
_DO = "Get the file again from whoever issued it, or certify anew."


@dataclass(frozen=True, slots=True)
class Checked:
    """`bad` is what is not as it says, `stale` what this installation has otherwise, `notes` what could not be or need not be decided.

    `is_possible` False: no run can have these counts, so nothing can be said about them.
    """

    certificate: CertificateFile
    bad: tuple[str, ...]
    stale: tuple[str, ...]
    notes: tuple[str, ...]
    is_possible: bool

    @property
    def exit_code(self) -> int:
        """0 good, 3 bad, 5 when it holds for something else than what is installed here."""
        return BAD if self.bad else STALE if self.stale else GOOD

    def line(self) -> str:
        """The result in one line."""
        word = {GOOD: "good", BAD: "bad", STALE: "stale"}[self.exit_code]
        return f"Certificate {word}: {self.certificate.kind} {self.certificate.subject}, {len(self.bad)} bad, {len(self.stale)} stale."


def read_certificate(path: Path) -> CertificateFile:
    """The certificate in a file. Raises StoreError with the places that are wrong."""
    try:
        with open(path, "rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as problem:
        raise StoreError(
            str(path), f"cannot be read ({problem.strerror})", "a certificate.json is expected", do="Check the path."
        ) from None
    if len(raw) > _MOST_BYTES:
        raise StoreError(str(path), f"more than {_MOST_BYTES:,} bytes", "a certificate.json is expected", do=_DO)
    try:
        orjson.loads(raw)
        return CertificateFile.model_validate_json(raw)
    except orjson.JSONDecodeError as problem:
        raise StoreError(str(path), f"not JSON ({problem.msg})", "a certificate is one JSON object", do=_DO) from None
    except ValidationError as problem:
        raise StoreError(str(path), _tell(problem), "the keys and types of a certificate are fixed", do=_DO) from None


def _tell(problem: ValidationError) -> str:
    errors = problem.errors(include_url=False, include_input=False, include_context=False)
    told = [f"{'.'.join(map(str, each['loc'])) or 'file'}: {each['msg']}" for each in errors[:MOST_PROBLEMS]]
    return "no certificate (" + "; ".join(told) + (f"; and {len(errors) - len(told)} more)" if len(errors) > len(told) else ")")


def check_certificate(certificate: CertificateFile, current: Mapping[str, str]) -> Checked:
    """Everything in a certificate against its counts, and its digests against those of this installation, by key of the file."""
    bad = _check_counts(certificate)
    is_possible = not bad
    bad += _check_derived(certificate) if not bad else []  # nothing follows from counts that cannot be
    notes = []
    if certificate.signature is None:
        notes.append("signature: none; who issued the file cannot be told, and its counts are as good as its source")
    elif is_signature_good(certificate):
        notes.append(f"signature: good, by key {certificate.signature.public_key}; compare it with the issuer's")
    else:
        bad.append("signature: not over what the file says now")
    if certificate.claim != "bound":
        notes.append("claim: none; the counts are a regression test, on a seed that may have been drawn from before")
    said = {name: getattr(certificate, name) for name in current}
    stale = [f"{name}: {said[name]} in the file, {value} here" for name, value in current.items() if said[name] != value]
    if certificate.code_version != __version__:
        notes.append(f"code_version: {certificate.code_version} in the file, {__version__} here")
    return Checked(certificate, tuple(bad), tuple(stale), tuple(notes), is_possible)


def _check_counts(certificate: CertificateFile) -> list[str]:
    """Counts that no run can have."""
    bad = []
    groups = {name: getattr(certificate, name) for name in ("families", "right", "published", "baselines")}
    for group, shares in groups.items():
        for share in shares:
            most = max([share.count, share.unscored, share.other_outcome, share.distinct or 0, *share.witnesses.values()])
            if most > share.trials:
                bad.append(f"{group}, {share.name}: {most} of {share.trials} trials")
        if len({share.name for share in shares}) != len(shares):
            bad.append(f"{group}: a name that stands twice")
    summed = [certificate.pooled] if certificate.pooled else []
    sizes = {share.name: share.trials for share in (*summed, *certificate.families, *certificate.published)}
    for each in certificate.independence:
        total = sum(size * times for size, times in each.clusters)
        if total != sizes.get(each.over):
            bad.append(f"independence, {each.over}: {total} trials in its templates, {sizes.get(each.over)} in all")
    wanted = {
        "families": certificate.plan.get("items", certificate.plan.get("trials")),
        "right": certificate.plan.get("items", certificate.plan.get("right")),
    }
    for group, trials in wanted.items():
        bad += [f"{group}, {share.name}: {share.trials} trials, {trials} planned" for share in groups[group] if share.trials != trials]
    bad += _check_seed(certificate)
    return bad


def _check_seed(certificate: CertificateFile) -> list[str]:
    """A seed that was not the one committed to."""
    shown, bad = certificate.seed, []
    if shown.source == "file" and shown.value is not None:
        bad.append("seed: one from a file is never told")
    if shown.value is not None and Seed(shown.value, shown.source).commit(certificate.plan) != shown.commitment:
        bad.append("seed.commitment: not of this seed and plan")
    return bad


def _check_derived(certificate: CertificateFile) -> list[str]:
    """What the file says beside what follows from its counts."""
    said, derived = certificate.model_dump(mode="json"), derive_rest(certificate).model_dump(mode="json")
    bad = [difference for name in said if name != "digest" for difference in _compare(name, said[name], derived[name])]
    if certificate.digest != digest_certificate(certificate):
        bad.append("digest: not of what the file says")
    return bad[:MOST_PROBLEMS]


def _compare(place: str, said: Any, derived: Any) -> list[str]:
    if isinstance(said, dict) and isinstance(derived, dict):
        return [line for name in said for line in _compare(f"{place}.{name}", said[name], derived[name])]
    if isinstance(said, list) and isinstance(derived, list) and len(said) == len(derived):
        names = [each.get("name", i) if isinstance(each, dict) else i for i, each in enumerate(said)]
        return [line for name, one, two in zip(names, said, derived, strict=True) for line in _compare(f"{place}.{name}", one, two)]
    return [] if said == derived else [f"{place}: {said} in the file, {derived} from its counts"]
