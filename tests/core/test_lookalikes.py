"""Letters that look alike are one when words are looked for."""

import pytest

from clinworld.core.lookalikes import fold_lookalikes, load_lookalikes


@pytest.mark.parametrize(
    "text",
    [
        "r\u0435gain",
        "reg\u0430\u0456n",
        "R\u0395GAIN",
        "\uff52\uff45\uff47\uff41\uff49\uff4e",
        "r\u00e9gain",
        "re\u200bgain",
        "rega\u0131n",
    ],
)
def test_word_spelt_with_lookalikes_is_the_word(text: str) -> None:
    assert fold_lookalikes(text) == "regain"


@pytest.mark.parametrize("text", ["\u4f53\u91cd\u53cd\u5f39", "plain text", "\u76f8\u540c"])
def test_text_without_lookalikes_stays(text: str) -> None:
    assert fold_lookalikes(text) == text


def test_each_lookalike_is_a_letter_that_is_not_english_and_means_one_that_is() -> None:
    for point, letter in load_lookalikes().items():
        assert not chr(point).isascii() and chr(point).isalpha()
        assert letter.isascii() and letter.islower() and len(letter) == 1
