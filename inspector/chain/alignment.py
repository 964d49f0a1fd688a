"""Aligns the steps of two or more runs of one task, finds where they diverge, and compares the inputs of the runs."""

from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from weaklink.inspector.chain.sequence_diff import common_pairs
from weaklink.inspector.chain.similar_calls import intent_of
from weaklink.inspector.chain.steps import Step, quoted
from weaklink.inspector.checks.repetition import call_key
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Generation, Json, Role, Trace, Turn, TurnFlag
from weaklink.inspector.model.columns import Column
from weaklink.inspector.text import counted
from weaklink.inspector.wire.events import settings_of

_MAX_TARGET_CHARS = 2_000
_MAX_QUOTE_CHARS = 60
_CHARS_BEFORE = 16
_MAX_NAMES = 4

# Request fields that only name the session or set how the answer is delivered.
_OF_THE_SESSION = frozenset(
    (
        *("metadata", "user", "safety_identifier", "prompt_cache_key", "client_metadata", "store", "stream"),
        "stream_options",
    )
)

_OTHERS = "\n"  # placeholder for the other runs, until all with this input are known; no excerpt contains it


class Sameness(StrEnum):
    """How a run's step compares with the first run's step of the same row: the first of these, in this order."""

    MISSING = "missing"  # the run made no such step
    CALL = "call"  # the same tool with other arguments
    RESULT = "result"  # the same call with another result
    OUTCOME = "outcome"  # the same result, judged otherwise: the tools that were offered differ
    SAME = "same"


_KINDS = tuple(Sameness)
_SAME = _KINDS.index(Sameness.SAME)


class AlignedRow(Struct, frozen=True):
    """The aligned steps of the runs in one row, one for each run in their order, None if a run has none.

    At least one is not None. `sameness` compares each with the first of these.
    """

    steps: tuple[Step | None, ...]
    sameness: tuple[Sameness, ...]

    @property
    def first(self) -> Step:
        """The step of the first run that has one here; the others are compared with it."""
        return next(step for step in self.steps if step is not None)

    @property
    def is_same(self) -> bool:
        """Whether every run has this step, with the same call, result and outcome."""
        return all(of_run is Sameness.SAME for of_run in self.sameness)


class Divergence(Struct, frozen=True):
    """Where runs first diverge: the index of the row, in what, and each run's step there, None if it had ended.

    If a run has no step in the row, `steps` has its next one.
    """

    row: int
    what: Sameness
    steps: tuple[Step | None, ...]


class Alignment(Struct, frozen=True):
    """The rows in order: each step of each run is in exactly one, and every run's steps ascend.

    `divergence` is None if the runs made the same steps with the same results.
    """

    rows: "AlignedRows"
    divergence: Divergence | None = None


class AlignedRows(Column[AlignedRow]):
    """The rows, each created on access: a run may have very many steps.

    It stores the index of each run's step in a row, -1 if there is none, and how each compares. `differing` is the
    number of rows that are not the same in all runs.
    """

    __slots__ = ("_runs", "_sameness", "_steps", "differing")

    def __init__(self, runs: Sequence[Sequence[Step]], rows: Iterable[Sequence[int]]) -> None:
        self._runs, self._steps, self._sameness = runs, array("l"), bytearray()
        for row in rows:
            self._steps.extend(row)
            self._sameness += bytes(map(_KINDS.index, _sameness(self._in(row))))
        self.differing = sum(not self.is_same(index) for index in range(len(self)))

    def __len__(self) -> int:
        return len(self._steps) // len(self._runs) if self._runs else 0

    def is_same(self, index: int) -> bool:
        """`AlignedRow.is_same` of the row with an index from 0, without creating the row."""
        return self._compared(index).count(_SAME) == len(self._runs)

    def first_step(self, run: int, index: int) -> Step | None:
        """The first step of a run at or after a row; None if there is none."""
        indexes = (
            step_index
            for step_index in self._steps[index * len(self._runs) + run :: len(self._runs)]
            if step_index >= 0
        )
        return next((self._runs[run][step_index] for step_index in indexes), None)

    def _at(self, index: int) -> AlignedRow:
        row = self._steps[index * len(self._runs) : (index + 1) * len(self._runs)]
        return AlignedRow(self._in(row), tuple(_KINDS[kind] for kind in self._compared(index)))

    def _compared(self, index: int) -> bytearray:
        return self._sameness[index * len(self._runs) : (index + 1) * len(self._runs)]

    def _in(self, row: Sequence[int]) -> tuple[Step | None, ...]:
        return tuple(
            steps[step_index] if step_index >= 0 else None for steps, step_index in zip(self._runs, row, strict=True)
        )


def align(runs: Sequence[Sequence[Step]]) -> Alignment:
    """Align the steps of runs: as many identical calls as possible, then calls of the same target, then of one tool.

    Identical calls are found by a longest common subsequence, and the similar calls between them in the same way.
    Further runs are aligned with the rows of the runs before them. Takes milliseconds for 2,000 steps.
    """
    rows: list[tuple[int, ...]] = [(index,) for index in range(len(runs[0]))] if runs else []
    for number in range(1, len(runs)):
        rows = list(_with_run(rows, runs, number))
    aligned = AlignedRows(runs, rows)
    return Alignment(aligned, _divergence(aligned, len(runs)))


def _with_run(
    rows: Sequence[tuple[int, ...]], runs: Sequence[Sequence[Step]], number: int
) -> Iterator[tuple[int, ...]]:
    """The rows with one more run; steps that match no row get new rows."""
    steps = runs[number]
    at_row = at_step = 0
    pairs = _pairs(_Stems(rows, runs), steps, (range(len(rows)), range(len(steps))), 0)
    for row, step in (*pairs, (len(rows), len(steps))):
        yield from ((*rows[index], -1) for index in range(at_row, row))
        yield from (((-1,) * number + (index,)) for index in range(at_step, step))
        if row < len(rows):
            yield (*rows[row], step)
        at_row, at_step = row + 1, step + 1


class _Stems(Column[Step]):
    """The first step of each row."""

    __slots__ = ("_rows", "_runs")

    def __init__(self, rows: Sequence[Sequence[int]], runs: Sequence[Sequence[Step]]) -> None:
        self._rows, self._runs = rows, runs

    def __len__(self) -> int:
        return len(self._rows)

    def _at(self, index: int) -> Step:
        return next(self._runs[run][step_index] for run, step_index in enumerate(self._rows[index]) if step_index >= 0)


def _pairs(
    stems: Sequence[Step], steps: Sequence[Step], within: tuple[range, range], level: int
) -> Iterator[tuple[int, int]]:
    """The indexes of matching steps; the next level matches the steps between the equal ones of a level."""
    mine, theirs = within
    if level == len(_KEYS) or not mine or not theirs:
        return
    numbers: defaultdict[Hashable, int] = defaultdict(lambda: len(numbers))  # an equal number for equal keys
    keys = [[numbers[_KEYS[level](row[index])] for index in some] for row, some in ((stems, mine), (steps, theirs))]
    numbers.clear()
    at_stem, at_step = mine.start, theirs.start
    for stem_offset, step_offset in (*common_pairs(*keys), (len(mine), len(theirs))):
        stem, step = mine.start + stem_offset, theirs.start + step_offset
        yield from _pairs(stems, steps, (range(at_stem, stem), range(at_step, step)), level + 1)
        if stem < mine.stop:
            yield stem, step
        at_stem, at_step = stem + 1, step + 1


def _same_call(step: Step) -> Hashable:
    return call_key(step.call)


def _same_target(step: Step) -> Hashable:
    """The tool and the value that identifies its target; a call without one matches no other."""
    intent = intent_of(step.call)
    if step.call.name is None or not intent.sought:
        return object()
    return step.call.name, intent.tool, intent.sought[0].text[:_MAX_TARGET_CHARS]


def _same_tool(step: Step) -> Hashable:
    return step.call.name if step.call.name is not None else object()


_KEYS = (_same_call, _same_target, _same_tool)


def _sameness(row: Sequence[Step | None]) -> tuple[Sameness, ...]:
    first = next(step for step in row if step is not None)
    return tuple(Sameness.MISSING if step is None else _compared(first, step) for step in row)


def _compared(first: Step, step: Step) -> Sameness:
    if first is step:
        return Sameness.SAME
    if call_key(first.call) != call_key(step.call):
        return Sameness.CALL
    if result_text(first) != result_text(step):
        return Sameness.RESULT
    return Sameness.SAME if first.outcome is step.outcome else Sameness.OUTCOME


def result_text(step: Step) -> str | None:
    """A step's result without the white space around it; None if there is none."""
    return step.result.content.strip() if step.result is not None else None


def _divergence(rows: AlignedRows, runs: int) -> Divergence | None:
    index = next((index for index in range(len(rows)) if not rows.is_same(index)), None)
    if index is None:
        return None
    what = min(rows[index].sameness, key=_KINDS.index)
    return Divergence(index, what, tuple(rows.first_step(run, index) for run in range(runs)))


class RunInput(StrEnum):
    """The inputs in which runs may differ."""

    MODEL = "model"
    PARAMETERS = "parameters"
    SYSTEM_PROMPT = "system_prompt"
    TOOLS = "tools"
    USER = "user"
    LATER_USER = "later_user"  # in a turn after the first, before the runs diverged


class RunInputDifference(Struct, frozen=True):
    """One difference between the inputs of runs, as one sentence.

    `runs` are the index of the first run and those of all runs that differ from it in this way.
    """

    what: RunInput
    runs: tuple[int, ...]
    message: str


def run_input_differences(traces: Sequence[Trace], alignment: Alignment) -> list[RunInputDifference]:
    """How each run's input differs from the first's, the likeliest cause of all that follows; empty if none does.

    What a source does not keep (parameters, a system prompt) is compared only if both runs have it.
    """
    parted = alignment.divergence
    turns = [
        len(trace.turns) + 1 if parted is None or (step := parted.steps[run]) is None else step.location.turn
        for run, trace in enumerate(traces)
    ]
    differences: dict[tuple[RunInput, str], list[int]] = {}
    for run in range(1, len(traces)):
        for difference in _differences(traces[0], traces[run], ("A", _OTHERS), (turns[0], turns[run])):
            differences.setdefault(difference, []).append(run)
    return [
        RunInputDifference(what, (0, *runs), message.replace(_OTHERS, named_runs([run_label(run) for run in runs])))
        for (what, message), runs in differences.items()
    ]


def run_label(index: int) -> str:
    """A run's label: `A`, `B`, and so on."""
    return chr(ord("A") + index) if index < 26 else f"run {index + 1}"


def named_runs(labels: Sequence[str]) -> str:
    """The labels of runs for a sentence: `A, B and C`."""
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"


def _differences(
    first: Trace, other: Trace, labels: tuple[str, str], until: tuple[int, int]
) -> Iterator[tuple[RunInput, str]]:
    mine, theirs = labels
    models = _model(first), _model(other)
    if models[0] != models[1] and all(models):
        yield RunInput.MODEL, f"{mine} ran on {quoted(models[0])}, {theirs} on {quoted(models[1])}."
    parameters = _parameters(first), _parameters(other)
    keys = parameters[0].keys() | parameters[1].keys() if all(parameters) else set()
    for key in sorted(keys - _OF_THE_SESSION):
        values = [_value(given, key) for given in parameters]
        if values[0] != values[1]:
            yield RunInput.PARAMETERS, f"{quoted(key)} is {values[0]} in {mine} and {values[1]} in {theirs}."
    prompts = ["\n".join(_words(trace, Role.SYSTEM, end)) for trace, end in zip((first, other), until, strict=True)]
    if prompts[0] != prompts[1] and all(prompts):
        yield RunInput.SYSTEM_PROMPT, f"The system prompts differ{_where(prompts[0], prompts[1], labels)}"
    yield from ((RunInput.TOOLS, message) for message in _tools(_offered(first), _offered(other), labels))
    yield from _user_words_difference(_words(first, Role.USER, until[0]), _words(other, Role.USER, until[1]), labels)


def _user_words_difference(
    first: Sequence[str], other: Sequence[str], labels: tuple[str, str]
) -> Iterator[tuple[RunInput, str]]:
    """The first of the user's turns, before the runs diverged, whose text differs."""
    for index, (mine, theirs) in enumerate(zip(first, other, strict=False)):
        if mine != theirs:
            what = RunInput.LATER_USER if index else RunInput.USER
            which = f"User message {index + 1} differs" if index else "The first user message differs"
            yield what, f"{which}{_where(mine, theirs, labels)}"
            return
    if len(first) != len(other):
        times = f"{counted(len(first), 'message')} to {labels[0]} and {len(other)} to {labels[1]}"
        yield RunInput.LATER_USER, f"Before the runs diverge, the user wrote {times}."


def _where(first: str, other: str, labels: tuple[str, str]) -> str:
    """The position from which two texts differ, and the text of each there."""
    shorter = min(len(first), len(other))
    position = next((index for index in range(shorter) if first[index] != other[index]), shorter)
    start = max(position - _CHARS_BEFORE, 0)
    shown = [
        quoted(("…" if start else "") + text[start:], _MAX_QUOTE_CHARS) if text[position:] else "nothing more"
        for text in (first, other)
    ]
    return f" from character {position + 1:,}: {labels[0]} has {shown[0]}, {labels[1]} {shown[1]}."


def _tools(first: Mapping[str, str], other: Mapping[str, str], labels: tuple[str, str]) -> Iterator[str]:
    if not first or not other:
        return
    for (has, lacks), mine, theirs in ((labels, first, other), (labels[::-1], other, first)):
        alone = [name for name in mine if name not in theirs]
        if alone:
            was = "was" if len(alone) == 1 else "were"
            yield f"{_named(alone)} {was} offered to {has} and not to {lacks}."
    changed = [name for name, raw in first.items() if name in other and other[name] != raw]
    if changed:
        has = "has a different definition" if len(changed) == 1 else "have different definitions"
        yield f"{_named(changed)} {has} in {labels[1]} than in {labels[0]}."


def _named(names: Sequence[str]) -> str:
    names_shown = ", ".join(map(quoted, names[:_MAX_NAMES]))
    return names_shown if len(names) <= _MAX_NAMES else f"{names_shown} and {len(names) - _MAX_NAMES} more"


def _words(trace: Trace, role: Role, until: int) -> list[str]:
    """The texts of a role in the turns before `until`, turn by turn."""
    turns = (turn for turn in trace.turns[: until - 1] if turn.role is role and TurnFlag.INJECTED not in turn.flags)
    return [text for turn in turns if (text := _text(turn).strip())]


def _text(turn: Turn) -> str:
    return "\n".join(part.text for part in turn.parts if part.name == "text")


def _generation(trace: Trace) -> Generation | None:
    return next((turn.generation for turn in trace.turns if turn.generation is not None), None)


def _model(trace: Trace) -> str:
    generation = _generation(trace)
    named = (generation.answered_model or generation.requested_model) if generation is not None else ""
    return trace.model or named or ""


def _parameters(trace: Trace) -> Mapping[str, Json]:
    generation = _generation(trace)
    return settings_of(generation) if generation is not None else {}


def _value(parameters: Mapping[str, Json], key: str) -> str:
    return quoted(write_json(parameters[key], ascii_only=False), _MAX_QUOTE_CHARS) if key in parameters else "not set"


def _offered(trace: Trace) -> dict[str, str]:
    """The tools that requests offered, each as it was defined first."""
    offered: dict[str, str] = {}
    for turn in trace.turns:
        for tool in turn.generation.tools if turn.generation is not None else ():
            offered.setdefault(tool.name, tool.raw)
    return offered
