"""The form of certificate.json: closed and whole, so that a file with a key of its own, or without one of these, is no certificate.

A share is a count out of trials with its bounds. Bounds are None where none may be claimed. Digests are hex, cut to the length written.
"""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

VERSION: Final = 1

Kind = Literal["write_checker", "other_checker", "decision_pack"]
Claim = Literal["bound", "regression"]
Count = Annotated[int, Field(ge=0, le=10**9)]
Chance = Annotated[float, Field(ge=0, le=1)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{12,64}$")]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
Update = Annotated[int, Field(ge=0, le=10**12)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Share(_Closed):
    """How many of the trials of one family were paid, or of gold not paid, and what that bounds.

    `bound` is for this family alone, `bound_simultaneous` for all of its list at once, `bound_distinct` alone again, with each of the
    `distinct` structures counted once.
    """

    name: Name
    count: Count
    trials: Annotated[int, Field(ge=1, le=10**9)]
    unscored: Count
    other_outcome: Count
    distinct: Count | None
    bound: Chance | None
    bound_simultaneous: Chance | None
    bound_distinct: Chance | None
    witnesses: Annotated[dict[Name, Count], Field(max_length=100)]


class Dependence(_Closed):
    """The bound over all families when trials of one template are correlated by `rho`."""

    rho: Chance
    effective: Annotated[int, Field(ge=1, le=10**12)]
    bound: Chance


class Independence(_Closed):
    """How alike the trials of `over` are, a family or all of them.

    `clusters` is (trials of a template, how many templates have so many), ascending.
    """

    over: Name
    clusters: list[tuple[Count, Count]]
    distinct: Count | None
    correlation: Annotated[float, Field(ge=-(10**9), le=1)] | None
    dependence: list[Dependence]


class SeedShown(_Closed):
    """The seed, or None for one that is kept back, and the digest that stood on disk before the first trial."""

    source: Literal["drawn", "given", "file"]
    value: Name | None
    commitment: Digest
    attempt: Annotated[int, Field(ge=1, le=10**9)]


class Signature(_Closed):
    """Over everything else in the file."""

    algorithm: Literal["ed25519"]
    public_key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    value: Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]


class CertificateFile(_Closed):
    """A certificate. `families` are what must not be paid, `right` what must be, `baselines` what earns something for nothing.

    `epsilon` is the largest simultaneous bound of `families`, at confidence 1 - `delta`. `threshold` is the reward from which a trial
    counts as paid, for a decision pack the share of full marks from which a dimension is right. `pooled` adds up families of different
    trials; policies on the same items are not added up. `left_out` items had no skill to measure. `published` repeats the labelled
    cases. Issue and expiry count updates of the policy in training.
    """

    certificate: Literal[1]
    kind: Kind
    subject: Name
    scope: Literal["synthetic"]
    issuer: Literal["self_signed"]
    claim: Claim
    epsilon: Chance | None
    delta: Annotated[float, Field(ge=1e-9, lt=1)]
    threshold: Chance
    corpus_digest: Digest
    checker_digest: Digest
    contract_digest: Digest
    generator_digest: Digest
    code_version: Name
    issued_at_update: Update
    expires_at_update: Update
    seed: SeedShown
    plan: Annotated[dict[Name, Count | Name], Field(max_length=20)]
    left_out: Count
    families: Annotated[list[Share], Field(min_length=1)]
    right: Annotated[list[Share], Field(min_length=1)]
    advantage: Annotated[float, Field(ge=-1, le=1)] | None
    pooled: Share | None
    independence: list[Independence]
    published: list[Share]
    baselines: list[Share]
    digest: Digest
    signature: Signature | None
