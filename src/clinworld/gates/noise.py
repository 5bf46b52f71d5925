"""How far two results of one person lie apart by chance alone."""

import math

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte


def clear_change_pct(row: Analyte, knowledge: Knowledge) -> float:
    """The reference change value: the percent change between two results that noise alone seldom produces, two-sided."""
    unknown = knowledge.parameter("lab_cv_unknown_pct")
    within = unknown if row.cv_within_pct is None else row.cv_within_pct
    analytic = unknown if row.cv_analytic_pct is None else row.cv_analytic_pct
    return knowledge.parameter("coupling.rcv_z") * math.sqrt(2.0 * (within * within + analytic * analytic))
