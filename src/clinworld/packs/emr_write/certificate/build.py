"""From counts to a certificate, and everything in one that follows from its counts: bounds, totals, its own digest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clinworld import __version__
from clinworld.core.digest import digest_value
from clinworld.packs.emr_write.certificate.bounds import bound_dependent, correlate_clusters, round_down, upper_bound
from clinworld.packs.emr_write.certificate.commitment import Commitment, Seed
from clinworld.packs.emr_write.certificate.measure import Tally
from clinworld.packs.emr_write.certificate.settings import setting, whole_setting
from clinworld.packs.emr_write.certificate.shape import (
    VERSION,
    CertificateFile,
    Dependence,
    Independence,
    Kind,
    SeedShown,
    Share,
    Signature,
)

THRESHOLD = 1.0
DIGEST_LENGTH = 64
POOLED = "all_families"
RHOS = ("0.01", "0.1", "0.5", "1")


@dataclass(frozen=True, slots=True)
class Identities:
    """What a certificate holds for, as digests: the trials, the checker, what it pays for, and what draws the trials."""

    corpus: str
    checker: str
    contract: str
    generator: str


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts by name: `families` paid, `right` not paid, `published` paid (the control: not paid), `baselines` paid."""

    families: Mapping[str, Tally]
    right: Mapping[str, Tally]
    published: Mapping[str, Tally]
    baselines: Mapping[str, Tally]
    published_right: tuple[str, ...] = ()


def build_certificate(
    kind: Kind,
    subject: str,
    counted: Counted,
    identities: Identities,
    seed: Seed,
    commitment: Commitment,
    plan: Mapping[str, int | str],
    *,
    left_out: int = 0,
) -> CertificateFile:
    """The certificate of these counts, not yet signed."""
    delta = setting("delta")
    families = [_share(name, tally, tally.paid) for name, tally in counted.families.items()]
    right = [_share(name, tally, tally.trials - tally.paid) for name, tally in counted.right.items()]
    published = [
        _share(name, tally, tally.trials - tally.paid if name in counted.published_right else tally.paid)
        for name, tally in counted.published.items()
    ]
    baselines = [_share(name, tally, tally.paid) for name, tally in counted.baselines.items()]
    is_decision = kind == "decision_pack"
    best = max(counted.families, key=lambda name: counted.families[name].paid)
    all_of_them = {best: [counted.families[best]]} if is_decision else {POOLED: list(counted.families.values())}
    sets = {**all_of_them, **{name: [tally] for name, tally in counted.published.items()}}
    certificate = CertificateFile(
        certificate=VERSION,
        kind=kind,
        subject=subject,
        scope="synthetic",
        issuer="self_signed",
        claim="bound" if commitment.is_fresh else "regression",
        epsilon=None,
        delta=delta,
        threshold=setting("right_from") if is_decision else THRESHOLD,
        corpus_digest=identities.corpus,
        checker_digest=identities.checker,
        contract_digest=identities.contract,
        generator_digest=identities.generator,
        code_version=__version__,
        issued_at_update=0,
        expires_at_update=whole_setting("expires_after_updates"),
        seed=SeedShown(source=seed.source, value=seed.shown, commitment=commitment.value, attempt=commitment.attempt),
        plan=dict(plan),
        left_out=left_out,
        families=families,
        right=right,
        advantage=None,
        pooled=None if is_decision else families[0],
        independence=[_independence(name, tallies, delta) for name, tallies in sets.items()],
        published=published,
        baselines=baselines,
        digest="0" * DIGEST_LENGTH,
        signature=None,
    )
    return derive_rest(certificate)


def _share(name: str, tally: Tally, count: int) -> Share:
    return Share(
        name=name,
        count=count,
        trials=tally.trials,
        unscored=tally.unscored,
        other_outcome=tally.other_outcome,
        distinct=len(tally.shapes) or None,
        bound=None,
        bound_simultaneous=None,
        bound_distinct=None,
        witnesses=dict(sorted(tally.witnesses.items())),
    )


def _sum_up(families: Sequence[Share]) -> Share:
    """All families as one share."""
    count, trials = sum(each.count for each in families), sum(each.trials for each in families)
    return _share(POOLED, Tally(trials=trials), count)


def _independence(over: str, tallies: Sequence[Tally], delta: float) -> Independence:
    sizes = sorted(size for tally in tallies for size in tally.clusters.values())
    clusters = [(tally.paid_clusters[name], size) for tally in tallies for name, size in tally.clusters.items()]
    return Independence(
        over=over,
        clusters=[(size, sizes.count(size)) for size in sorted(set(sizes))],
        distinct=len({shape for tally in tallies for shape in tally.shapes}) or None,
        correlation=correlate_clusters(clusters),
        dependence=[],
    )


def derive_rest(certificate: CertificateFile) -> CertificateFile:
    """The certificate with everything that follows from its counts worked out anew; a signature is kept as it stands."""
    delta, is_claimed = certificate.delta, certificate.claim == "bound"
    families = _bound_all(certificate.families, delta, is_claimed)
    right = _bound_all(certificate.right, delta, is_claimed)
    pooled = certificate.pooled
    if pooled is not None:
        pooled = _bound_all([_sum_up(families)], delta, is_claimed)[0]
    simultaneous = [each.bound_simultaneous for each in families if each.bound_simultaneous is not None]
    epsilon = max(simultaneous, default=None)
    refused = [each.bound_simultaneous for each in right if each.bound_simultaneous is not None]
    rest = {
        "families": families,
        "right": right,
        "pooled": pooled,
        "epsilon": epsilon,
        "advantage": None if epsilon is None else round_down(1 - max(refused) - epsilon),
        "independence": [_derive_dependence(each, certificate, delta, is_claimed) for each in certificate.independence],
        "published": _bound_all(certificate.published, delta, is_claimed),
        "baselines": _bound_all(certificate.baselines, delta, is_claimed),
    }
    derived = certificate.model_copy(update=rest)
    return derived.model_copy(update={"digest": digest_certificate(derived)})


def _bound_all(shares: Sequence[Share], delta: float, is_claimed: bool) -> list[Share]:
    found = []
    for each in shares:
        bounds: dict[str, float | None] = dict.fromkeys(("bound", "bound_simultaneous", "bound_distinct"))
        if is_claimed:
            bounds["bound"] = upper_bound(each.count, each.trials, delta)
            bounds["bound_simultaneous"] = upper_bound(each.count, each.trials, delta / len(shares))
            # Where anything was paid, a structure may stand for many trials, so that counting it once says nothing.
            bounds["bound_distinct"] = upper_bound(0, each.distinct, delta) if each.distinct and not each.count else None
        found.append(each.model_copy(update=bounds))
    return found


def _derive_dependence(each: Independence, certificate: CertificateFile, delta: float, is_claimed: bool) -> Independence:
    sizes = [(size, times) for size, times in each.clusters if size and times]
    named = {share.name: share.count for share in (*certificate.families, *certificate.published)}
    hits = named.get(each.over, sum(share.count for share in certificate.families))
    bounds = [bound_dependent(hits, sizes, rho, delta) for rho in RHOS] if is_claimed and sizes else []
    return each.model_copy(update={"dependence": [Dependence(rho=b.rho, effective=b.effective, bound=b.bound) for b in bounds]})


def digest_certificate(certificate: CertificateFile) -> str:
    """The digest of everything in a certificate but itself and the signature."""
    return digest_value(certificate.model_dump(exclude={"digest", "signature"}, mode="json"), length=DIGEST_LENGTH)


def signed_bytes(certificate: CertificateFile) -> bytes:
    """What a signature is over: the digest, which stands for all the rest."""
    return b"clinworld certificate\x00" + digest_certificate(certificate).encode()


def as_json(certificate: CertificateFile) -> dict[str, Any]:
    """The certificate as written to a file."""
    return certificate.model_dump(mode="json")


def with_signature(certificate: CertificateFile, signature: Signature) -> CertificateFile:
    """The certificate, signed."""
    return certificate.model_copy(update={"signature": signature})
