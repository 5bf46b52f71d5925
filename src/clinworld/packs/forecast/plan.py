"""Gold of a forecast, from the premise: what will happen, why, and the days on which the picture turns or seems to.

Nothing charted is read here; `gold.py` derives the same from the chart alone. Called when an item is made.
"""

from clinworld.knowledge.load import Knowledge
from clinworld.schema.gold import ForecastGold, TurningPoint
from clinworld.schema.premise import PlannedArtifact, Premise

REVERSAL = "reversal"


def derive_gold(premise: Premise, knowledge: Knowledge) -> ForecastGold:
    """The answer the premise fixes, turning points by day; a fault's is the first day it may show on.

    An event that will happen or a red flag warrants action, unless the job says whether it does.
    """
    event_occurs = premise.outcome == "regain"
    kinds = {name: row.turning_kind for name, row in knowledge.artifacts.items()}
    points = [TurningPoint(_first_shown_day(fault), kinds[fault.kind], fault.kind) for fault in premise.artifacts]
    if event_occurs and premise.reversal_day is not None:
        points.append(TurningPoint(premise.reversal_day, "real", REVERSAL))
    return ForecastGold(
        event_occurs=event_occurs,
        drivers=(premise.driver,),
        turning_points=tuple(sorted(points, key=lambda point: (point.day, point.kind, point.cause))),
        has_red_flag=premise.has_red_flag,
        is_action_warranted=event_occurs or premise.has_red_flag if premise.clinician_warranted is None else premise.clinician_warranted,
    )


def _first_shown_day(fault: PlannedArtifact) -> int:
    # The one low adherence reading of a gap is charted in the middle of its window.
    return (fault.first_day + fault.last_day) // 2 if fault.kind == "adherence_gap" else fault.first_day
