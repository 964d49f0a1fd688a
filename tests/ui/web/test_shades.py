"""The numbers in a heat map can be read on every colour that a cell can have."""

import pytest

from weaklink.ui.views.colours import DARK, LIGHT, Colours, contrast
from weaklink.ui.views.styled_text import Style
from weaklink.ui.web.markup import ink_on, mixed


@pytest.mark.parametrize("colours", [DARK, LIGHT], ids=["dark", "light"])
def test_the_ink_stands_out_from_every_shade_as_wcag_asks(colours: Colours) -> None:
    for step in range(101):
        fill = mixed(colours.surface, colours.of[Style.ERROR], step / 100)
        assert contrast(ink_on(fill), fill) >= 4.5, step


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_a_mix_lies_between_its_ends_and_never_beyond() -> None:
    assert mixed("#000000", "#ff8040", 0) == "#000000"
    assert mixed("#000000", "#ff8040", 0.5) == "#804020"
    assert mixed("#000000", "#ff8040", 7) == "#ff8040"
