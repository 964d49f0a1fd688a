"""A line that is typed into; what stands in it may come from a trace, and does nothing to the terminal."""

from rich.segment import Segment
from textual.strip import Strip
from textual.widgets import Input

from ui.tui.line_view import settled
from ui.views.visible import visible_line


class LineInput(Input):
    """Textual's line, which shows what cannot be seen as glyphs; its `value` is what it is."""

    def render_line(self, y: int) -> Strip:
        """The line."""
        strip = super().render_line(y)
        if strip.text.isascii():
            return strip
        shown = [segment if segment.control else _shown(segment) for segment in strip]
        return Strip(shown).crop_extend(0, self.size.width, self.rich_style)


def _shown(segment: Segment) -> Segment:
    return Segment(settled(visible_line(segment.text)), segment.style)
