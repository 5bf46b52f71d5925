"""A certificate in plain words, in either language. Says what was counted, what that bounds, and what it does not say."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from clinworld.core.text import Labels, Language, load_labels
from clinworld.packs.emr_write.certificate.bounds import lower_bound, print_down, print_up
from clinworld.packs.emr_write.certificate.check import Checked
from clinworld.packs.emr_write.certificate.shape import CertificateFile, Independence, Share

HERE = Path(__file__).parent
_DIGESTS = ("checker_digest", "contract_digest", "generator_digest", "corpus_digest", "code_version")


def explain_certificate(checked: Checked, language: Language) -> str:
    """The page, as Markdown. Says first whether the file is as it says; of counts that cannot be, nothing more."""
    page = _Page(checked.certificate, language)
    found = "; ".join(checked.bad)
    if not checked.is_possible:
        return "\n\n".join((page.title(), page.say("checked_impossible", found=found))) + "\n"
    return page.write(page.say("checked_bad", found=found) if checked.bad else page.say("checked_good"))


class _Page:
    def __init__(self, certificate: CertificateFile, language: Language) -> None:
        self.certificate, self.language = certificate, language
        self.labels: Labels = load_labels(HERE / "explain.csv")
        self.is_decision = certificate.kind == "decision_pack"
        self.is_claimed = certificate.claim == "bound"
        self.confidence = f"{100 * (1 - certificate.delta):g}%"

    def say(self, label: str, **values: object) -> str:
        return self.labels.say(label, self.language, **values)

    def title(self) -> str:
        return "# " + self.say(f"title_{self.certificate.kind}", subject=self.certificate.subject)

    def write(self, state: str) -> str:
        blocks = [
            self.title(),
            state,
            self.say("warning"),
            self._summary(),
            self._paid(),
            "## " + self.say("policies_title" if self.is_decision else "families_title"),
            self._table(self.certificate.families, "column_policy" if self.is_decision else "column_family"),
            "## " + self.say("right_title"),
            "\n".join(self._right()),
            *self._dependence(),
            *self._published(),
            *self._baselines(),
            "## " + self.say("limits_title"),
            "\n".join(f"- {self.say(label)}" for label in self._limits()),
            "## " + self.say("identity_title"),
            "\n".join(f"- {line}" for line in self._identity()),
        ]
        return "\n\n".join(blocks) + "\n"

    def name(self, name: str) -> str:
        """A family, policy or control in words."""
        head, _, rest = name.partition(":")
        if f"name_{head}" in self.labels:
            return self.say(f"name_{head}", rest=f"`{rest}`")
        kind, _, side = name.rpartition("_")
        if f"class_{kind}" in self.labels and f"side_{side}" in self.labels:
            return self.say("family_name", kind=self.say(f"class_{kind}"), side=self.say(f"side_{side}"))
        return f"`{name}`"

    def _up(self, bound: float | None) -> str:
        return self.say("unclaimed") if bound is None else print_up(bound)

    def _summary(self) -> str:
        shares = self.certificate.families
        best = max(shares, key=lambda share: share.count / share.trials)
        label = "summary_regression" if not self.is_claimed else "summary_decision" if self.is_decision else "summary_bound"
        return self.say(
            label,
            count=f"{sum(share.count for share in shares):,}",
            trials=f"{sum(share.trials for share in shares):,}",
            families=len(shares),
            confidence=self.confidence,
            epsilon=self._up(self.certificate.epsilon),
            best=best.count,
            best_trials=f"{best.trials:,}",
            best_name=self.name(best.name),
        )

    def _paid(self) -> str:
        label = "paid_decision" if self.is_decision else "paid_checker"
        return self.say(label, threshold=f"{self.certificate.threshold:g}", left_out=f"{self.certificate.left_out:,}")

    def _table(self, shares: list[Share], first: str) -> str:
        is_witnessed = any(share.witnesses for share in shares)
        is_varied = any(share.distinct is not None for share in shares)
        columns = [first, "column_paid", "column_trials", *(["column_distinct"] if is_varied else []), "column_bound", "column_bound_all"]
        columns += ["column_bound_distinct"] if is_varied else []
        columns += ["column_unscored", "column_fooled"] if is_witnessed else []
        lines = ["| " + " | ".join(self.say(column) for column in columns) + " |", "|" + "---|" * len(columns)]
        for share in shares:
            cells = [self.name(share.name), f"{share.count:,}", f"{share.trials:,}"]
            cells += [f"{share.distinct:,}" if share.distinct is not None else self.say("none")] if is_varied else []
            cells += [self._up(share.bound), self._up(share.bound_simultaneous)]
            cells += [self._up(share.bound_distinct)] if is_varied else []
            cells += [f"{share.unscored:,}", self._fooled(share)] if is_witnessed else []
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def _fooled(self, share: Share) -> str:
        name, times = max(share.witnesses.items(), key=lambda pair: (pair[1], pair[0]), default=("", 0))
        return f"`{name}` {times:,}" if times else self.say("none")

    def _right(self) -> Iterator[str]:
        delta = self.certificate.delta / len(self.certificate.right)
        for share in self.certificate.right:
            values = {
                "name": self.name(share.name),
                "count": f"{share.count:,}",
                "trials": f"{share.trials:,}",
                "confidence": self.confidence,
            }
            least = print_down(lower_bound(share.trials - share.count, share.trials, delta))
            yield "- " + (self.say("right_line", **values, least=least) if self.is_claimed else self.say("right_line_plain", **values))
        if self.certificate.advantage is not None and not self.is_decision:
            advantage = print_down(max(-1.0, self.certificate.advantage))
            yield "- " + self.say("advantage", advantage=advantage, confidence=self.confidence)

    def _dependence(self) -> Iterator[str]:
        if self.certificate.independence:
            yield "## " + self.say("dependence_title")
            yield "\n".join(line for each in self.certificate.independence for line in self._dependence_of(each))

    def _dependence_of(self, each: Independence) -> Iterator[str]:
        trials = sum(size * times for size, times in each.clusters)
        yield "- " + self.say(
            "dependence_line_items" if self.is_decision else "dependence_line",
            over=self.name(each.over),
            trials=f"{trials:,}",
            templates=f"{sum(times for _, times in each.clusters):,}",
            distinct="" if each.distinct is None else self.say("distinct", count=f"{each.distinct:,}"),
            correlation=self.say("correlation_unknown") if each.correlation is None else f"{each.correlation:.3f}",
        )
        for row in () if self.is_decision else each.dependence:
            values = {"rho": f"{row.rho:g}", "effective": f"{row.effective:,}", "trials": f"{trials:,}"}
            yield "  - " + self.say("dependence_row", **values, bound=print_up(row.bound))

    def _published(self) -> Iterator[str]:
        if self.certificate.published:
            yield "## " + self.say("published_title")
            yield "\n".join(
                "- "
                + self.say(
                    "published_line", name=self.name(share.name), count=share.count, trials=share.trials, bound=self._up(share.bound)
                )
                for share in self.certificate.published
            )

    def _baselines(self) -> Iterator[str]:
        if self.certificate.baselines:
            yield "## " + self.say("baselines_title")
            yield self.say("baselines_line_decision" if self.is_decision else "baselines_line_checker")
            yield self._table(self.certificate.baselines, "column_policy")

    def _limits(self) -> tuple[str, ...]:
        if self.is_decision:
            return ("limit_distribution_items", "limit_policies", "limit_once", "limit_counts")
        if self.certificate.kind == "other_checker":
            return ("limit_verdicts", "limit_distribution", "limit_once", "limit_counts")
        return ("limit_distribution", "limit_search", "limit_once", "limit_counts")

    def _identity(self) -> Iterator[str]:
        certificate, seed = self.certificate, self.certificate.seed
        for name in _DIGESTS:
            yield self.say("identity_line", name=self.say(name), value=f"`{getattr(certificate, name)}`")
        kept = {"commitment": f"`{seed.commitment}`", "attempt": seed.attempt}
        yield self.say("seed_kept", **kept) if seed.value is None else self.say("seed_shown", value=f"`{seed.value}`", **kept)
        yield self.say("expiry", issued=certificate.issued_at_update, expires=f"{certificate.expires_at_update:,}")
        signature = certificate.signature
        yield self.say("signature_none") if signature is None else self.say("signature_by", key=f"`{signature.public_key}`")
        if seed.value is not None and certificate.kind != "other_checker":
            yield self.say("repeat", command=self._command(seed.value))

    def _command(self, seed: str) -> str:
        option, plan = "items" if self.is_decision else "trials", self.certificate.plan
        language = f" --language {plan['language']}" if "language" in plan else ""
        return f"clinworld certify {self.certificate.subject} --{option} {plan.get(option)} --seed {shlex.quote(seed)}{language}"
