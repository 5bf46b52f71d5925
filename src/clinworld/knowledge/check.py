"""What must agree between knowledge files. Cell types and closed lists are checked on reading; here are the references, numbers and names.

`check_knowledge` runs every check; `clinworld verify` and the tests print its findings, each naming file and row.
"""

from collections.abc import Callable, Iterator

from clinworld.knowledge.check_names import check_codes, check_languages, check_loinc, check_names, check_repeated_texts
from clinworld.knowledge.check_numbers import (
    check_ages,
    check_bounds,
    check_diagnostic_limits,
    check_drivers,
    check_effects,
    check_ladders,
    check_levels,
    check_missing_days,
)
from clinworld.knowledge.check_references import (
    check_derived_streams,
    check_indications,
    check_look_alikes,
    check_references,
    check_sources,
    check_statuses,
)
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding

CHECKS: tuple[Callable[[Knowledge], Iterator[Finding]], ...] = (
    check_sources,
    check_statuses,
    check_references,
    check_indications,
    check_derived_streams,
    check_look_alikes,
    check_bounds,
    check_ages,
    check_ladders,
    check_effects,
    check_levels,
    check_diagnostic_limits,
    check_drivers,
    check_missing_days,
    check_names,
    check_languages,
    check_repeated_texts,
    check_loinc,
    check_codes,
)


def check_knowledge(knowledge: Knowledge) -> tuple[Finding, ...]:
    """All findings of all checks, in the order of the checks; () when the files agree.

    Raises KnowledgeError for a row that cannot be read at all.
    """
    return tuple(finding for check in CHECKS for finding in check(knowledge))
