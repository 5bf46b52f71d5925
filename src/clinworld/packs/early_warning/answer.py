"""What a reply must contain: the forecasting answer."""

from clinworld.packs.forecast.answer import ForecastAnswer as AnswerModel

__all__ = ["AnswerModel"]
