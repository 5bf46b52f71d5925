"""Levels that change with age."""

from presenting_case import KNOWLEDGE

from clinworld.world.levels import load_first_levels


def test_sex_hormones_of_women_are_those_after_the_menopause_from_its_age_on() -> None:
    def first(item: str, sex: str, age_years: float) -> tuple[float, float]:
        levels = load_first_levels(KNOWLEDGE, (), (item,), sex, age_years)
        return float(levels.low[0, 0]), float(levels.high[0, 0])

    assert first("fsh", "F", 62.0) == (25.8, 134.8)
    assert first("fsh", "F", 47.0)[1] < 25.8 and first("estradiol", "F", 62.0)[1] < first("estradiol", "F", 47.0)[0] * 3
    for item in ("fsh", "lh", "estradiol"):
        assert first(item, "M", 62.0) == first(item, "M", 47.0)
