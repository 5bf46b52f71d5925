"""The offline controls of this pack: those of every forecasting question. Which of them run stands in `pack.yaml`."""

from clinworld.packs.forecast.control_list import CONTROLS

__all__ = ["CONTROLS"]
