"""The cases this pack draws and their gold from the premise: both as in every forecasting question."""

from clinworld.packs.forecast.plan import derive_gold
from clinworld.world.draw import draw_cases

__all__ = ["derive_gold", "draw_cases"]
