"""What must agree between knowledge files. Cell types and closed lists are checked on reading; here are the references, numbers and names.

`check_knowledge` runs every check; `clinworld verify` and the tests print its findings, each naming file and row.
"""

from collections.abc import Callable, Iterator

from clinworld.knowledge.check_conditions import (
    check_condition_findings,
    check_deciding_symptoms,
    check_look_alikes,
    check_presentations,
    check_told_apart,
)
from clinworld.knowledge.check_drugs import (
    check_contraindications,
    check_effects,
    check_harms,
    check_indications,
    check_interactions,
    check_ladders,
    check_monitoring,
    check_most_a_day,
)
from clinworld.knowledge.check_effects import check_couplings, check_event_effects
from clinworld.knowledge.check_names import (
    check_codes,
    check_languages,
    check_loinc,
    check_names,
    check_repeated_texts,
)
from clinworld.knowledge.check_numbers import (
    check_artifacts,
    check_bounds,
    check_diagnostic_limits,
    check_drivers,
    check_levels,
    check_missing_days,
    check_parameter_ranges,
)
from clinworld.knowledge.check_references import (
    check_correlations,
    check_derived_streams,
    check_parameter_names,
    check_references,
    check_reviews,
    check_sources,
    check_statuses,
)
from clinworld.knowledge.check_rules import check_protocols
from clinworld.knowledge.check_spelling import check_classes, check_dose_units, check_groups, check_icd_codes
from clinworld.knowledge.check_tests import (
    check_alternatives,
    check_comorbidities,
    check_factor_effects,
    check_finding_kinds,
    check_platforms,
    check_units,
)
from clinworld.knowledge.check_who import (
    check_ages,
    check_claims,
    check_presentation_limits,
    check_prevalence,
    check_sexes,
)
from clinworld.knowledge.check_wordings import (
    check_events_are_harmless,
    check_wording_counts,
    check_wordings_fit_the_teller,
    check_wordings_mean_one_thing,
    check_wordings_name_nothing,
)
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding

CHECKS: tuple[Callable[[Knowledge], Iterator[Finding]], ...] = (
    check_sources,
    check_statuses,
    check_reviews,
    check_references,
    check_parameter_names,
    check_indications,
    check_derived_streams,
    check_correlations,
    check_look_alikes,
    check_told_apart,
    check_presentations,
    check_deciding_symptoms,
    check_condition_findings,
    check_sexes,
    check_presentation_limits,
    check_prevalence,
    check_ages,
    check_claims,
    check_bounds,
    check_ladders,
    check_most_a_day,
    check_effects,
    check_harms,
    check_contraindications,
    check_monitoring,
    check_interactions,
    check_levels,
    check_diagnostic_limits,
    check_drivers,
    check_artifacts,
    check_missing_days,
    check_parameter_ranges,
    check_finding_kinds,
    check_units,
    check_alternatives,
    check_factor_effects,
    check_platforms,
    check_comorbidities,
    check_event_effects,
    check_couplings,
    check_names,
    check_languages,
    check_repeated_texts,
    check_wording_counts,
    check_wordings_mean_one_thing,
    check_wordings_name_nothing,
    check_wordings_fit_the_teller,
    check_events_are_harmless,
    check_protocols,
    check_loinc,
    check_codes,
    check_icd_codes,
    check_classes,
    check_groups,
    check_dose_units,
)


def check_knowledge(knowledge: Knowledge) -> Iterator[Finding]:
    """The findings of all checks, in the order of the checks, each looked for when it is asked for; none when the files agree.

    Raises KnowledgeError for a row that cannot be read at all.
    """
    return (finding for check in CHECKS for finding in check(knowledge))
