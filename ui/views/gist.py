"""What a verdict says of the whole of a trace: gathered once, for in a wide trace that takes a while."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from inspector.chain.steps import Status
from inspector.inspection import Inspection
from inspector.model import Trace
from inspector.rules.rule import Severity
from ui.views.aftermath import consequence, words_on_break

_SEVERITIES = {severity: index for index, severity in enumerate(Severity)}


@dataclass(frozen=True, eq=False)
class Gist:
    """The gist of a trace: each fact is found when it is first asked for, and kept. Equal only to itself.

    Where somebody knows that already, `graded` holds a byte for each diagnostic, the place of its severity among all,
    and `counted` how many steps failed, and the number of the first.
    """

    trace: Trace
    inspection: Inspection
    graded: bytes | None = None
    counted: tuple[int, int] | None = None

    def gather(self) -> None:
        """Find now what a verdict will ask for."""
        _ = self._severities, self.focus, self.consequence, self.words

    @property
    def severities(self) -> Mapping[Severity, int]:
        """How many diagnostics there are of each severity."""
        return {severity: self._severities.count(index) for severity, index in _SEVERITIES.items()}

    @property
    def first_error(self) -> int | None:
        """The index of the first diagnostic that is an error; None where none is."""
        at = self._severities.find(_SEVERITIES[Severity.ERROR])
        return None if at < 0 else at

    @property
    def failed(self) -> int:
        """How many steps failed."""
        return self._failed[0]

    @property
    def focus(self) -> int:
        """The number of the step to look at: the break, else the first that failed; 0 where none did."""
        broken = self.inspection.chain.broken
        return self._failed[1] if broken is None else broken.step

    @cached_property
    def consequence(self) -> str:
        """What the break caused, in a sentence; empty without a break."""
        chain = self.inspection.chain
        return consequence(chain, chain.steps[chain.broken.step - 1]) if chain.broken is not None else ""

    @cached_property
    def words(self) -> tuple[int, str] | None:
        """The turn and the words in which the agent owned up to the break, or else its last words after it."""
        return words_on_break(self.trace, self.inspection)

    @cached_property
    def _severities(self) -> bytes:
        """A byte a diagnostic."""
        if self.graded is not None:
            return self.graded
        return bytes(_SEVERITIES[one.rule.severity] for one in self.inspection.diagnostics)

    @cached_property
    def _failed(self) -> tuple[int, int]:
        """How many steps failed, and the number of the first."""
        if self.counted is not None:
            return self.counted
        chain = self.inspection.chain
        count = first = 0
        for step in chain.steps if chain.status is not Status.OK else ():
            if step.outcome.failed:
                count, first = count + 1, first or step.number
        return count, first
