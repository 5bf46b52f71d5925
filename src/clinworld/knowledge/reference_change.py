"""How far two results of one person lie apart by chance alone, as the rules that compare results mean it."""

from math import sqrt

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte

RCV_DECIMALS = 1


def reference_change_pct(row: Analyte, knowledge: Knowledge) -> float:
    """The reference change value: the percent change between two results that noise alone seldom produces, two-sided.

    A variation that the row does not know counts as `lab_cv_unknown_pct`.
    """
    unknown = knowledge.parameter("lab_cv_unknown_pct")
    within, analytic = (unknown if cv is None else cv for cv in (row.cv_within_pct, row.cv_analytic_pct))
    return knowledge.parameter("coupling.rcv_z") * sqrt(2.0 * (within * within + analytic * analytic))


def is_variation_known(row: Analyte) -> bool:
    """Whether the reference change value rests on numbers of the row alone."""
    return row.cv_within_pct is not None and row.cv_analytic_pct is not None
