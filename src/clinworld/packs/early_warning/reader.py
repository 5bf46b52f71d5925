"""The positive control: an honest reader that gets the delivered text and nothing else."""

from clinworld.packs.forecast.reader import read_forecast

__all__ = ["read_forecast"]
