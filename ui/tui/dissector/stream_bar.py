"""The bar beside the stream: which part of the trace is in sight, and where its faults are."""

from inspector.rules.rule import Severity
from ui.views.dissect.stream import StreamLayout
from ui.views.palette import Style, style_of
from ui.views.run import Run

_MOST_TICKS = 2_000  # of more faults, every so-manieth is looked up
_THUMB, _TRACK, _TICK = "┃", "│", "●"


class StreamBar:
    """One column of cells for one layout; the places of faults are looked up once a height."""

    def __init__(self) -> None:
        self._ticks: dict[int, Severity] | None = None
        self._height = 0

    def cell(self, layout: StreamLayout, y: int, height: int, top: int) -> Run:
        """The cell beside line `y` of a screen of `height`; `top` is the number of the first row in sight."""
        count = max(layout.count, 1)
        first = top * height // count
        last = max((top + height) * height // count, first + 1)
        worst = self._at(layout, height).get(y)
        if worst is not None:
            return Run(_TICK, style_of(worst))
        return Run(_THUMB, Style.STRONG) if first <= y < last else Run(_TRACK, Style.GUTTER)

    def _at(self, layout: StreamLayout, height: int) -> dict[int, Severity]:
        """The gravest severity of the faults that each cell stands for."""
        if self._ticks is None or self._height != height:
            self._ticks, self._height = {}, height
            faults, count = layout.dissection.faults, max(layout.count, 1)
            for at in range(0, len(faults.places), max(len(faults.places) // _MOST_TICKS, 1)):
                number = layout.guessed(*faults.places.order(at)[:3])
                y, severity = min(number * height // count, height - 1), faults.severity(at)
                before = self._ticks.get(y)
                if before is None or _SEVERITIES.index(severity) < _SEVERITIES.index(before):
                    self._ticks[y] = severity
        return self._ticks


_SEVERITIES = tuple(Severity)
