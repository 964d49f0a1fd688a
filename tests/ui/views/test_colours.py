"""The colours of the palette: there is one for every meaning, and each can be read."""

import pytest
from rich.color import Color, ColorSystem

from weaklink.ui.views.colours import DARK, LIGHT, Colours, contrast
from weaklink.ui.views.styled_text import Style


def test_the_contrast_of_black_and_white_is_twenty_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", [DARK, LIGHT], ids=["dark", "light"])
def test_every_meaning_can_be_read_on_everything_that_text_stands_on(colours: Colours) -> None:
    assert set(colours.of) == set(Style)
    faint = {
        (style, ground): contrast(colour, ground)
        for style, colour in colours.of.items()
        for ground in colours.grounds
        if contrast(colour, ground) < 4.5
    }
    assert not faint


def test_dark_grounds_stay_grey_and_apart_where_there_are_256_colours() -> None:
    grounds = (DARK.background, DARK.surface, DARK.asleep, DARK.cursor)
    numbers = [Color.parse(ground).downgrade(ColorSystem.EIGHT_BIT).number or 0 for ground in grounds]
    assert numbers == sorted(set(numbers))
    assert all(232 <= number <= 255 for number in numbers)  # the greys of the 256
