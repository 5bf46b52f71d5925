"""How fast weight may move on average: the weekly limit of the world and the share a descent or rebound may take."""

from clinworld.knowledge.load import Knowledge


def descent_limit_kg_per_day(knowledge: Knowledge) -> float:
    """kg a day that a whole descent or rebound may take on average."""
    return knowledge.parameter("weight_weekly_limit_kg") * knowledge.parameter("premise_descent_share") / 7
