"""The chain of a trace as a list: each call with its turn, what became of it, and what came back."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from inspector.chain.steps import Chain, Status, Step, StepOutcome
from inspector.json_text import write_json
from ui.views.status import call_brief, outcome_words, step_glyph
from ui.views.styled_text import Line, Run, Style, cell_width, clipped, padded, right_aligned, visible_line, width_of
from ui.views.wording import counted

_WRAPPER = frozenset({"name", "content", "tool_call_id", "call_id", "id"})
_LONGEST_UNWRAPPED = 100_000
_HEADS = ("step", "turn", "call", "outcome", "result")
_NARROWEST_CALL, _NARROWEST_RESULT = 16, 12


def chain_lines(chain: Chain, width: int) -> Iterator[Line]:
    """One line a step, under heads: number, turn, call, outcome, result. No lines where no tool was called.

    Retries in a row that fared alike are one line: `2-5`, `×4`.
    """
    runs = [_StepRow(tuple(steps)) for _, steps in groupby(chain.steps, key=_outcome)]
    if not runs:
        return
    numbers, turns = _widest([row.number for row in runs], "step"), _widest([row.turn for row in runs], "turn")
    outcomes = _widest([row.outcome for row in runs], "outcome")
    rest = max(width - numbers - turns - outcomes - 11, _NARROWEST_CALL + _NARROWEST_RESULT)
    results = [result_words(row.last, rest) for row in runs]
    calls = [call_brief(row.first.call, rest) for row in runs]
    room = _room_for_calls(rest, max(map(cell_width, calls)), max(map(width_of, results)))
    widths = (numbers, turns, room + 2, outcomes)
    yield clipped(_columns(*((Run(head, Style.DIM),) for head in _HEADS), widths=widths), width)
    for row, call, result in zip(runs, calls, results, strict=True):
        glyph = step_glyph(row.first)
        cells = (
            (Run(row.number),),
            (Run(row.turn, Style.DIM),),
            (glyph, Run(" "), *clipped((Run(call, Style.TOOL_CALL),), room)),
            (Run(row.outcome, glyph.style),),
            result,
        )
        yield clipped(_columns(*cells, widths=widths), width)


def ending(chain: Chain, failed: int | None = None) -> str:
    """How the chain ended, in a few words that follow its status; its `failed` steps are counted where it needs to."""
    match chain.status:
        case Status.BROKEN if chain.broken is not None:
            return f"at step {chain.broken.step} of {len(chain.steps)}"
        case Status.ABORTED:
            return f"by {chain.abort_reason}" if chain.abort_reason else ""
        case Status.RECOVERED:
            failed = sum(step.outcome.failed for step in chain.steps) if failed is None else failed
            return f"from {failed} failed of {counted(len(chain.steps), 'step')}"
        case Status.UNKNOWN:
            return "the last answer was not kept"
        case _:
            return "" if chain.steps else "no tool was called"


def result_words(step: Step, room: int) -> Line:
    """A step's result on one line, as much as `room` code points hold: its error's words, else its beginning."""
    if step.result is None:
        return (Run("no result", Style.DIM),)
    if step.outcome is StepOutcome.ERROR_RESULT and step.error:
        return (Run(visible_line(step.error[:room]), Style.TOOL_RESULT),)
    text = _without_wrapper(step.result.content.strip())
    return (Run(visible_line(text[:room]), Style.TOOL_RESULT),) if text else (Run("empty", Style.DIM),)


class _StepRow:
    """A step, or retries in a row that fared alike."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.first, self.last = steps[0], steps[-1]
        self.number = _span(self.first.number, self.last.number)
        self.turn = _span(self.first.location.turn, self.last.location.turn)
        is_good_now = self.first.recovery is not None  # then it matters less how sure the failure was
        said = outcome_words(replace(self.first, certainty=None) if is_good_now else self.first)
        self.outcome = said + (f" ×{len(steps)}" if len(steps) > 1 else "")


def _outcome(step: Step) -> tuple[object, ...]:
    """What steps in a row have in common that are shown as one."""
    how = (step.outcome, step.certainty, step.recovery, step.recovered_by)
    return (step.retry_of or step.number, *how)


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _widest(words: Sequence[str], head: str) -> int:
    return max(len(head), *map(len, words))


def _room_for_calls(rest: int, longest_call: int, longest_result: int) -> int:
    """The cells for calls: all they need if the results leave it, half of the screen else."""
    return max(min(longest_call, max(rest // 2, rest - longest_result)), min(_NARROWEST_CALL, longest_call))


def _columns(number: Line, turn: Line, call: Line, outcome: Line, result: Line, *, widths: Sequence[int]) -> Line:
    numbers, turns, calls, outcomes = widths
    gap = Run("  ")
    return (
        Run(" "),
        *right_aligned(number, numbers),
        gap,
        *right_aligned(turn, turns),
        gap,
        *padded(call, calls),
        gap,
        *padded(outcome, outcomes),
        gap,
        *result,
    )


def _without_wrapper(text: str) -> str:
    """A result without the `{"name", "content"}` that some formats put around it."""
    if len(text) > _LONGEST_UNWRAPPED or not text.startswith("{"):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict) or "content" not in value or not value.keys() <= _WRAPPER:
        return text
    content = value["content"]
    return content if isinstance(content, str) else write_json(content, ascii_only=False)
