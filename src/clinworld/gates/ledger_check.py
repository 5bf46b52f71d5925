"""One check of one row of the ledger."""

from typing import Literal, NamedTuple

State = Literal["passed", "failed", "not_applicable"]


class LedgerCheck(NamedTuple):
    """A check's name, its state, and what was seen or why it does not apply."""

    name: str
    state: State
    detail: str


def passes(name: str, holds: bool, detail: str) -> LedgerCheck:
    """A check that passes when `holds`."""
    return LedgerCheck(name, "passed" if holds else "failed", detail)


def does_not_apply(name: str, reason: str) -> LedgerCheck:
    """A check that has nothing to say here."""
    return LedgerCheck(name, "not_applicable", reason)
