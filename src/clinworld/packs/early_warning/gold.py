"""Gold of this pack, read back from the charted facts: as in every forecasting question."""

from clinworld.packs.forecast.gold import agrees, read_gold

__all__ = ["agrees", "read_gold"]
