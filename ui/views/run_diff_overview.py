"""The overview of compared runs: their first divergence in a sentence, aligned steps as a grid and as minimaps."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice

from weaklink.inspector.chain.alignment import AlignedRow, Alignment, Divergence, Sameness, named_runs, run_label
from weaklink.inspector.chain.steps import Chain, Step, quoted
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.ui.views.status import UNNAMED, call_brief, step_glyph
from weaklink.ui.views.styled_text import Line, Run, Style, clipped, counted, padded, visible_line, wrapped

_POINTER_CELLS = 3
_LEAD_CELLS = 4
_NARROWEST = 14
_BRIEF_CELLS = 40
_MAX_ROWS = 40
_FOLDED = 4  # rows shown at either end of a folded block of equal rows

_SIGNS = {
    Sameness.SAME: ("=", Style.DIM),
    Sameness.CALL: ("≠", Style.WARNING),
    Sameness.RESULT: ("≈", Style.WARNING),
    Sameness.OUTCOME: ("≈", Style.WARNING),
}

LEGEND = "= same  ≈ same call, other result  ≠ other arguments  · no such step"
"""The meaning of the signs of a grid."""

MAX_QUOTE_CHARS = 60
"""The approximate number of code points quoted of an argument or a result."""

_MARGIN_CELLS = 12


def aligned_map_lines(alignment: Alignment, runs: int, row: int, width: int) -> Iterator[Line]:
    """A line of pointers, then one line per run, with three cells per row: a sign for the comparison, and the outcome.

    `▼` points to the first divergence, `▽` to row `row`. If not all rows fit, those around it are shown, between `…`.
    """
    room = max((width - _LEAD_CELLS - 4) // _POINTER_CELLS, 1)
    rows = alignment.rows
    start = max(min(row - room // 2, len(rows) - room), 0)
    shown = range(start, min(start + room, len(rows)))
    suffix = Run(" …", Style.DIM) if shown.stop < len(rows) else Run("")
    diverging_row = alignment.divergence.row if alignment.divergence is not None else -1
    yield (Run(" " * (_LEAD_CELLS + 2)), *(_pointer(index, row, diverging_row) for index in shown))
    for run in range(runs):
        lead = (Run(f" {run_label(run)[-1]} ", Style.STRONG), Run("… " if start else "  ", Style.DIM))
        yield (*lead, *(piece for index in shown for piece in _map_cell(rows[index], run)), suffix)


def _pointer(index: int, row: int, diverging_row: int) -> Run:
    if index == diverging_row:
        return Run("▼  ", Style.ERROR)
    return Run("▽  ", Style.KEY) if index == row else Run(" " * _POINTER_CELLS)


def _map_cell(row: AlignedRow, run: int) -> Line:
    step = row.steps[run]
    if step is None:
        return (Run("·".rjust(2) + " ", Style.DIM),)
    is_stem = step is row.first
    sign = Run(" ") if is_stem else sign_of(row.sameness[run])
    return (sign, step_glyph(step), Run(" "))


def run_verdict(alignment: Alignment, chains: Sequence[Chain], last_words: Sequence[str], without_rows: str) -> str:
    """The verdict in a sentence, which groups equal runs.

    `last_words` is each agent's final text, `without_rows` the words for an alignment without rows.
    """
    divergence, ended = alignment.divergence, _endings(chains)
    if divergence is None:
        differ = any(words != last_words[0] for words in last_words)
        answers = ", and their final answers differ" if differ else ""
        if not alignment.rows:
            return f"{without_rows}{answers}; {ended}."
        steps = len(alignment.rows)
        phrase = "step with the same result" if steps == 1 else f"{counted(steps, 'step')} with the same results"
        same = f"The runs make the same {phrase}"
        return f"{same}{answers}; {ended}."
    return f"Runs differ first at {_where(divergence)}: {_actions_there(divergence)}; {ended}."


def _where(divergence: Divergence) -> str:
    numbers = {step.number for step in divergence.steps if step is not None}
    if len(numbers) == 1:
        return f"step {numbers.pop()}"
    return " and ".join(
        f"step {step.number} of {run_label(run)}" for run, step in enumerate(divergence.steps) if step is not None
    )


def _actions_there(divergence: Divergence) -> str:
    stem = next(step for step in divergence.steps if step is not None)
    match divergence.what:
        case Sameness.RESULT:
            outcomes = _grouped([_answer(step, divergence.steps) for step in divergence.steps])
            return f"{quoted(differing_call(stem), 2 * MAX_QUOTE_CHARS)} returns {outcomes}"
        case Sameness.OUTCOME:
            outcomes = _grouped([step.outcome.value if step is not None else "nothing" for step in divergence.steps])
            return f"{quoted(differing_call(stem), 2 * MAX_QUOTE_CHARS)} has the same result and is judged {outcomes}"
        case _:
            return _calls(divergence.steps)


def _calls(steps: Sequence[Step | None]) -> str:
    existing = [step for step in steps if step is not None]
    texts = [
        quoted(differing_call(step, existing), 2 * MAX_QUOTE_CHARS) if step is not None else "no further tool"
        for step in steps
    ]
    groups = _runs_by_text(texts)
    lead = [f"{named_runs(runs)} {'calls' if len(runs) == 1 else 'call'} {what}" for what, runs in groups[:1]]
    return ", ".join([*lead, *(f"{named_runs(runs)} {what}" for what, runs in groups[1:])])


def _grouped(texts: Sequence[str]) -> str:
    return ", ".join(f"{what} in {named_runs(runs)}" for what, runs in _runs_by_text(texts))


def _runs_by_text(texts: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The distinct texts, each with the letters of its runs."""
    groups: dict[str, list[str]] = {}
    for run, what in enumerate(texts):
        groups.setdefault(what, []).append(run_label(run))
    return list(groups.items())


def _endings(chains: Sequence[Chain]) -> str:
    texts = [
        chain.status.value + (f" at step {chain.broken.step}" if chain.broken is not None else "") for chain in chains
    ]
    groups = _runs_by_text(texts)
    if len(groups) == 1:
        return f"{'both' if len(chains) == 2 else 'all'} are {groups[0][0]}"
    lead = [f"{named_runs(runs)} {'is' if len(runs) == 1 else 'are'} {what}" for what, runs in groups[:1]]
    return ", ".join([*lead, *(f"{named_runs(runs)} {what}" for what, runs in groups[1:])])


def _answer(step: Step | None, steps: Sequence[Step | None]) -> str:
    if step is None or step.result is None:
        return "nothing"
    own_result = step.result.content.strip()
    others = (step.result.content.strip() for step in steps if step is not None and step.result is not None)
    other = next((text for text in others if text != own_result), "")
    return quoted(excerpt(own_result, other, MAX_QUOTE_CHARS), MAX_QUOTE_CHARS + 2)


def grid_lines(alignment: Alignment, runs: int, width: int, *, full: bool = False) -> Iterator[Line]:
    """The grid under a head with the runs' letters; `»` marks the row of the first divergence.

    Unless `full`, a long block of equal rows is folded, and at most forty rows are shown. If the screen is too narrow
    for all runs, there are several grids, each with the first run.
    """
    for columns in _groups(runs, width):
        if columns[-1] != runs - 1 or columns[1:2] not in ((1,), ()):
            yield ()
        yield from _grid(alignment, columns, width, full=full)
    yield from wrapped((Run("    "), Run(LEGEND, Style.DIM)), width, indent=4)


def grid_columns(runs: int, chosen: int, width: int) -> tuple[int, ...]:
    """The runs shown in a single grid: all, or else the first and those around the chosen one."""
    most = max((width - 3) // (_NARROWEST + 2), 2) - 1
    start = max(min(chosen - 1, runs - 1 - most), 0)
    return (0, *range(1, runs)[start : start + most])


def grid_head(columns: Sequence[int], width: int, called: Sequence[str], chosen: int) -> Line:
    """The head of a grid: each run's letter and its name in `called`, with brackets around the chosen one."""
    line: list[Run] = [Run("   ")]
    for run in columns:
        label = f" [{run_label(run)}]" if run == chosen else f"  {run_label(run)} "
        heading = (Run(label, Style.STRONG), Run(f" {visible_line(called[run])}", Style.DIM))
        line += (*padded(heading, _room(columns, width)), Run("  "))
    return tuple(line)


def grid_row(alignment: Alignment, index: int, columns: Sequence[int], width: int) -> Line:
    """One row of the grid; `»` marks the row of the first divergence."""
    is_first = alignment.divergence is not None and alignment.divergence.row == index
    return _row(alignment.rows[index], columns, _room(columns, width), is_first=is_first)


def sign_of(sameness: Sameness) -> Run:
    """The sign of the comparison of a step with the first run's."""
    return Run(*_SIGNS[sameness]) if sameness in _SIGNS else Run("·", Style.DIM)


def _room(columns: Sequence[int], width: int) -> int:
    return max((width - 3) // len(columns) - 2, 1)


def _groups(runs: int, width: int) -> Iterator[tuple[int, ...]]:
    """The runs of each grid: as many as fit, always with the first."""
    most = max((width - 3) // (_NARROWEST + 2), 2)
    others = list(range(1, runs))
    for start in range(0, max(len(others), 1), most - 1):
        yield (0, *others[start : start + most - 1])


def _grid(alignment: Alignment, columns: Sequence[int], width: int, *, full: bool) -> Iterator[Line]:
    cell = _room(columns, width)
    heads = (
        piece for run in columns for piece in (*padded((Run(f"  {run_label(run)}", Style.STRONG),), cell), Run("  "))
    )
    yield (Run("   "), *heads)
    rows = [(index, row) for index, row in enumerate(alignment.rows) if any(row.steps[run] for run in columns)]
    lines = _rows(rows, alignment, columns, cell, full=full)
    yield from lines if full else islice(lines, _MAX_ROWS)
    left = sum(1 for _ in lines)
    if left:
        yield (Run(f"   … {counted(left, 'more row')}; --full shows all", Style.DIM),)


def _rows(
    rows: Sequence[tuple[int, AlignedRow]], alignment: Alignment, columns: Sequence[int], cell: int, *, full: bool
) -> Iterator[Line]:
    diverging_row = alignment.divergence.row if alignment.divergence is not None else -1
    for is_same, group in groupby(rows, key=lambda numbered: numbered[1].is_same):
        alike = list(group)
        if is_same and not full and len(alike) > 2 * _FOLDED + 1:
            for _, row in alike[:_FOLDED]:
                yield _row(row, columns, cell, is_first=False)
            note = counted(len(alike) - 2 * _FOLDED, "step") + " the same in all runs"
            yield (Run(f"   … {note}", Style.DIM),)
            alike = alike[-_FOLDED:]
        for index, row in alike:
            yield _row(row, columns, cell, is_first=index == diverging_row)


def _row(row: AlignedRow, columns: Sequence[int], cell: int, *, is_first: bool) -> Line:
    line: list[Run] = [Run(" » ", Style.ERROR) if is_first else Run("   ")]
    for run in columns:
        line += (*padded(step_cell(row, run, cell), cell), Run("  "))
    return tuple(line)


def step_cell(row: AlignedRow, run: int, room: int) -> Line:
    """A run's step in a row, in at most `room` cells: how it compares with the first run's, its outcome, its call."""
    step = row.steps[run]
    if step is None:
        return (Run("  ·", Style.DIM),)
    sign, style = _SIGNS[row.sameness[run]]
    is_stem = step is row.first
    mark = Run("  " if is_stem else f"{sign} ", style)
    text = _cell_text(step, row, room, is_stem=is_stem)
    shown = Style.DIM if row.is_same else Style.TOOL_CALL
    return clipped((mark, step_glyph(step), Run(f" {step.number} ", Style.DIM), Run(text, shown)), room)


def _cell_text(step: Step, row: AlignedRow, room: int, *, is_stem: bool) -> str:
    if not is_stem and row.sameness[row.steps.index(step)] is Sameness.SAME and room < _BRIEF_CELLS:
        return visible_line(step.call.name) if step.call.name else UNNAMED
    if Sameness.CALL in row.sameness:
        return visible_line(differing_call(step, row.steps, room - 6)[: 2 * room])
    return call_brief(step.call, room)


def differing_call(step: Step, others: Sequence[Step | None] = (), room: int = 2 * MAX_QUOTE_CHARS) -> str:
    """A call with the arguments in which it differs from the other calls of its tool; with all if there are no others.

    If that does not fit into `room` code points, the arguments' names are left out, then the end of the tool's name.
    """
    name = step.call.name or UNNAMED
    arguments = step.call.arguments
    if not isinstance(arguments, dict):
        return f"{name}({step.call.raw_arguments[:MAX_QUOTE_CHARS]})"
    shown = _differing(step, arguments, others)
    rest = ["…"] if len(shown) < len(arguments) else []
    text = f"{name}({', '.join([f'{key}={value}' for key, value in shown.items()] + rest)})"
    if len(text) <= room:
        return text
    values = ", ".join(shown.values())
    if len(name) + len(values) + 2 <= room:
        return f"{name}({values})"
    return f"{name if len(name) <= room // 2 else name[: room // 2 - 1] + '…'}({values})"


def _differing(step: Step, arguments_of_step: Mapping[str, Json], others: Sequence[Step | None]) -> dict[str, str]:
    """The arguments that differ from the others, with their values as JSON; of long values an excerpt."""
    other_arguments: list[dict[str, Json]] = []
    for other in others:
        arguments = other.call.arguments if other is not None and other.call.name == step.call.name else None
        if other is not step and isinstance(arguments, dict):
            other_arguments.append(arguments)
    return {
        key: _value(value, [argument.get(key) for argument in other_arguments])
        for key, value in arguments_of_step.items()
        if not other_arguments or any(key not in argument or argument[key] != value for argument in other_arguments)
    }


def _value(value: Json, others: Sequence[Json]) -> str:
    """A value as JSON; of a long one an excerpt around its difference from the others."""
    text = write_json(value, ascii_only=False)
    if len(text) <= MAX_QUOTE_CHARS // 2:
        return text
    other_text = next((write_json(other, ascii_only=False) for other in others if other != value), "")
    return excerpt(text, other_text, MAX_QUOTE_CHARS // 2)


def excerpt(text: str, other: str, room: int) -> str:
    """`text` from shortly before its difference from `other`, in at most `room` code points."""
    shorter = min(len(text), len(other))
    offset = next((index for index in range(shorter) if text[index] != other[index]), shorter) if other else 0
    start = 0 if offset + _MARGIN_CELLS < room else max(offset - _MARGIN_CELLS, 0)
    shown = text[start : start + room]
    return ("…" if start else "") + shown + ("…" if start + room < len(text) else "")
