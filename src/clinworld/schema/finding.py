"""What a check found. A check returns findings; no finding means passed, `Unmeasured` means there was nothing to check."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: which check, where, what was found and what is allowed."""

    check: str
    place: str
    found: str
    allowed: str = ""

    def __str__(self) -> str:
        return f"{self.check}: {self.place}: found {self.found}" + (f"; {self.allowed}" if self.allowed else "")


@dataclass(frozen=True, slots=True)
class GateResult:
    """The state of one gate on one item or batch. `reason` says why it was not run or is unmeasured."""

    gate: str
    state: Literal["passed", "failed", "unmeasured", "not_run"]
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    checked: int = 0  # things looked at
