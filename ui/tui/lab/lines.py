"""What the lab says of a sample and of one reading of it."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from inspector.formats.format import Format
from inspector.segmentation import Segmentation
from ui.tui.lab.cutting import Chunking
from ui.tui.lab.reading import Comparing, Likeness, read, uncut
from ui.tui.lab.sample import LabSample
from ui.views.palette import Style
from ui.views.reading_diff import ReadingFacts, reading_diff_lines
from ui.views.run import Line, Run
from ui.views.wording import counted, quoted, wrapped

_MOST_LINES = 20_000


@dataclass(frozen=True, slots=True)
class WantedReading:
    """A reading to be shown beside the stored one."""

    sample: LabSample
    comparing: Comparing
    format: Format
    cut: Chunking
    seed: int

    def read(self, is_left: Callable[[], bool]) -> Segmentation | str:
        """The reading, or what its reader raised. LeftError once `is_left`."""
        return read(self.sample, self.format, self.cut, self.seed, is_left)

    def lines(self, width: int, is_left: Callable[[], bool], *, whole: bool) -> list[Line]:
        """What differs. LeftError once `is_left`."""
        if uncut(self.sample, self.cut):
            said = " The source did not keep in which pieces this text came."
            return list(wrapped(quoted(said), width))
        found = self.read(is_left)
        if isinstance(found, str):
            return list(wrapped((Run(" ✖ ", Style.ERROR), *quoted(found)), width, indent=3))
        if self.comparing.cell(found).likeness is Likeness.SAME and not whole:
            return [(Run(" ✔ the same reading; `w` shows it whole", Style.OK),)]
        stored = self.comparing.stored
        one = ReadingFacts(stored.spans, stored.calls, stored.diagnostics)
        other = ReadingFacts(found.spans, found.calls, found.diagnostics)
        lines = reading_diff_lines(self.sample.text, one, other, width - 1, whole=whole)
        return [(Run(" "), *line) for line in islice(lines, _MOST_LINES)]


def sample_line(sample: LabSample, comparing: Comparing | None, seed: int) -> Line:
    """What the sample is, and how it is stored."""
    chunks = sample.part.chunks
    came = counted(len(chunks.ends), "chunk") if chunks is not None else "chunks not kept"
    stored = f"stored as {sample.stored.format}"
    facts = [f" turn {sample.turn}", counted(len(sample.text), "character"), came, stored, f"seed {seed}"]
    if comparing is not None and comparing.beyond:
        facts.append(f"{counted(comparing.beyond, 'diagnostic')} of the whole trace left out")
    return (Run(" · ".join(facts), Style.DIM),)
