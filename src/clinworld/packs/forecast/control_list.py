"""All offline controls of a forecasting question, by name: those that read the text and those that read gold."""

from collections.abc import Mapping

from clinworld.packs.forecast.controls import CONTROLS as READERS
from clinworld.packs.forecast.controls import ControlSpec
from clinworld.packs.forecast.oracles import ORACLES

CONTROLS: Mapping[str, ControlSpec] = {**READERS, **ORACLES}

__all__ = ["CONTROLS", "ControlSpec"]
