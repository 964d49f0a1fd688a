"""Compares several recorded runs of one command: which are equal, which are broken, and where and why they diverge."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from weaklink.inspector.chain.intervals import Interval, Share, wilson
from weaklink.inspector.chain.steps import Status
from weaklink.inspector.errors import StoreError
from weaklink.inspector.replay.matching import DifferenceSource, RunDivergence, RunExchange, parting
from weaklink.inspector.rules.rule import Severity
from weaklink.storage.store import Store
from weaklink.ui.json_types.runs import DoctorJson, PartingJson, PartingSideJson, ShareJson
from weaklink.ui.views.status import GLYPHS, OK_GLYPH
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line

SOURCES = {
    DifferenceSource.ANSWER: "different answers to equal requests",
    DifferenceSource.TOOL_RESULT: "a tool returned something else",
    DifferenceSource.CLOCK: "a date or time in the prompt",
    DifferenceSource.ID: "a random id in the prompt",
    DifferenceSource.ORDER: "the same items in a different order, as parallel calls return them",
    DifferenceSource.TOOLS: "the list of tools changed",
    DifferenceSource.PROMPT: "another request",
    DifferenceSource.END: "a request that one run did not make",
}
"""The description of each source."""

REMEDIES = {
    DifferenceSource.ANSWER: "`weaklink ask` measures how often this request's answers break; `temperature=0` and a "
    "`seed` make some servers more repeatable, but guarantee nothing.",
    DifferenceSource.TOOL_RESULT: "Use a fixture for the tool, or serve the model's answers with `weaklink replay`.",
    DifferenceSource.CLOCK: "Pass the time in from outside, rounded, or leave it out: it also defeats prompt caches.",
    DifferenceSource.ID: "Leave the id out of the prompt, or derive it from the task.",
    DifferenceSource.ORDER: "Append results in the order of the calls, not in the order in which they finish.",
    DifferenceSource.TOOLS: "Build the list of tools from a sorted, fixed source.",
    DifferenceSource.PROMPT: "`weaklink diff --requests`, or `r` in the terminal's comparison, shows both requests.",
    DifferenceSource.END: "Compare both runs: `weaklink diff` shows them side by side.",
}


class CommandRun(Struct, frozen=True):
    """One run of a command: its exit code, the statuses of its traces, and its exchanges in order."""

    number: int
    run: str
    exit_code: int
    statuses: tuple[tuple[int, Status], ...]
    exchanges: tuple[RunExchange, ...]

    @property
    def is_broken(self) -> bool:
        """Whether the chain of one of its traces broke."""
        return any(status is Status.BROKEN for _, status in self.statuses)


class RunsComparison(Struct, frozen=True):
    """Runs in groups of equal ones, largest first; `partings` are where other runs diverge from its first run."""

    runs: tuple[CommandRun, ...]
    groups: tuple[tuple[int, ...], ...]
    partings: tuple[tuple[int, RunDivergence], ...]

    @property
    def first(self) -> tuple[int, RunDivergence] | None:
        """The run that diverges earliest, and where; the first of several."""
        return min(self.partings, key=lambda parting: parting[1].request, default=None)

    @property
    def equal(self) -> Share:
        """The share of runs that are in the largest group."""
        return Share(len(self.groups[0]) if self.groups else 0, len(self.runs))

    @property
    def broken(self) -> Share:
        """The share of runs that have a broken chain."""
        return Share(sum(run.is_broken for run in self.runs), len(self.runs))

    @property
    def has_findings(self) -> bool:
        """Whether runs diverge, or a chain broke."""
        return bool(self.partings) or any(run.is_broken for run in self.runs)


def recorded_run(store: Store, run: str, number: int, exit_code: int) -> CommandRun:
    """The records of a run; a run without requests to a model has no exchanges."""
    try:
        stored = store.exchanges.of(run)
    except StoreError:
        return CommandRun(number, run, exit_code, (), ())
    statuses, run_exchanges = [], []
    for id_, exchanges in stored.traces.items():
        trace, inspection = store.inspected(id_)
        statuses.append((id_, inspection.chain.status))
        for exchange in exchanges:
            is_answer = 0 < exchange.turn <= len(trace.turns)
            run_exchanges.append(RunExchange(id_, exchange, trace.turns[exchange.turn - 1] if is_answer else None))
    run_exchanges.sort(key=lambda exchange: exchange.exchange.began_s or 0.0)
    return CommandRun(number, run, exit_code, tuple(statuses), tuple(run_exchanges))


def compare_runs(runs: Sequence[CommandRun]) -> RunsComparison:
    """Group equal runs, and find where the others diverge from the largest group (of equal ones, the earliest)."""
    groups: list[list[CommandRun]] = []
    for run in runs:
        group = next((group for group in groups if parting(group[0].exchanges, run.exchanges) is None), None)
        if group is None:
            groups.append([run])
        else:
            group.append(run)
    groups.sort(key=lambda group: -len(group))
    partings = []
    for run in runs:
        if groups and run not in groups[0]:
            divergence = parting(groups[0][0].exchanges, run.exchanges)
            if divergence is not None:
                partings.append((run.number, divergence))
    return RunsComparison(tuple(runs), tuple(tuple(run.number for run in group) for group in groups), tuple(partings))


def comparison_lines(compared: RunsComparison) -> Iterator[Line]:
    """The report for a terminal."""
    total = len(compared.runs)
    yield (
        Run(
            f"{counted(total, 'run')}: {_share(compared.equal)} equal, {_share(compared.broken)} broken.", Style.STRONG
        ),
    )
    for run in compared.runs:
        traces = ", ".join(f"{id_} {status.value}" for id_, status in run.statuses)
        found_traces = f"trace {traces}" if traces else "no model request"
        code = f", exit code {run.exit_code}" if run.exit_code else ""
        yield (Run(f"  run {run.number}: {counted(len(run.exchanges), 'request')}{code}; {found_traces}", Style.DIM),)
    first = compared.first
    if first is None:
        yield (_equal_runs(compared),)
        return
    base = compared.groups[0][0]
    yield from _parting_lines(base, *first)
    for number, divergence in compared.partings:
        if (number, divergence) != first:
            line = f"  run {number} also diverges, at request {divergence.request}: {SOURCES[divergence.source]}."
            yield (Run(line, Style.DIM),)
    yield (Run(REMEDIES[first[1].source]),)


def _equal_runs(compared: RunsComparison) -> Run:
    """What runs that do not diverge have in common."""
    exchanges = [exchange.exchange for run in compared.runs for exchange in run.exchanges]
    if not exchanges:
        return Run(f"{GLYPHS[Severity.WARNING]} No run made a request to a model.", Style.WARNING)
    if all(exchange.status is None for exchange in exchanges):
        return Run(f"{GLYPHS[Severity.ERROR]} Every run made the same requests, and no server answered.", Style.ERROR)
    return Run(f"{OK_GLYPH} Every run made the same requests and got the same answers.", Style.OK)


def _parting_lines(base: int, number: int, divergence: RunDivergence) -> Iterator[Line]:
    yield (
        Run(
            f"{GLYPHS[Severity.ERROR]} Runs {base} and {number} first diverge at request {divergence.request}: ",
            Style.ERROR,
        ),
        Run(f"{SOURCES[divergence.source]}.", Style.ERROR),
    )
    if divergence.differences:
        difference = divergence.differences[0]
        yield (Run(f"  {visible_line(difference.pointer)}{_where(divergence)}", Style.KEY),)
        yield (Run(f"    run {base}: {visible_line(difference.recorded)}", Style.REMOVED),)
        yield (Run(f"    run {number}: {visible_line(difference.live)}", Style.ADDED),)
    if divergence.first is not None and divergence.second is not None:
        turns = dict.fromkeys(
            str(exchange.exchange.turn) for exchange in (divergence.first, divergence.second) if exchange.exchange.turn
        )
        sides = f" --requests {','.join(turns)}" if turns else ""
        yield (Run(f"  weaklink diff {divergence.first.trace} {divergence.second.trace}{sides}", Style.DIM),)
        yield (Run(f"  weaklink tui {divergence.second.trace} --against {divergence.first.trace}", Style.DIM),)


def _where(divergence: RunDivergence) -> str:
    difference = divergence.differences[0]
    named = f", message {difference.message}" if difference.message is not None else ""
    named += f", tool {visible_line(difference.tool)}" if difference.tool is not None else ""
    where = difference.recorded_range if difference.live_range is None else difference.live_range
    return f"{named}, characters {where.start} to {where.end}" if where is not None else named


def _share(share: Share) -> str:
    interval = wilson(share) if share.trials else Interval(0.0, 1.0)
    return f"{share.hits:.0f} of {share.trials:.0f} ({100 * interval.low:.0f} to {100 * interval.high:.0f} %)"


def comparison_json(compared: RunsComparison) -> DoctorJson:
    """The report as JSON; intervals are Wilson's, ranges `[start, end]` in code points of the decoded text."""
    first = compared.first
    return {
        "runs": [
            {
                "number": run.number,
                "run": run.run,
                "exit_code": run.exit_code,
                "requests": len(run.exchanges),
                "broken": run.is_broken,
                "traces": [{"id": id_, "status": status.value} for id_, status in run.statuses],
            }
            for run in compared.runs
        ],
        "groups": [[*group] for group in compared.groups],
        "equal": _share_json(compared.equal),
        "broken": _share_json(compared.broken),
        "source": first[1].source.value if first is not None else None,
        "partings": [_parting_json(number, divergence) for number, divergence in compared.partings],
    }


def _share_json(share: Share) -> ShareJson:
    interval = wilson(share) if share.trials else Interval(0.0, 1.0)
    return {
        "runs": round(share.hits),
        "of": round(share.trials),
        "interval": [round(interval.low, 6), round(interval.high, 6)],
    }


def _parting_json(number: int, divergence: RunDivergence) -> PartingJson:
    return {
        "run": number,
        "source": divergence.source.value,
        "meaning": SOURCES[divergence.source],
        "request": divergence.request,
        "first": _exchange_json(divergence.first),
        "second": _exchange_json(divergence.second),
        "differences": [
            {
                "kind": difference.kind.value,
                "pointer": difference.pointer,
                "message": difference.message,
                "tool": difference.tool,
                "first": difference.recorded,
                "second": difference.live,
                "first_range": [difference.recorded_range.start, difference.recorded_range.end]
                if difference.recorded_range
                else None,
                "second_range": [difference.live_range.start, difference.live_range.end]
                if difference.live_range
                else None,
            }
            for difference in divergence.differences
        ],
    }


def _exchange_json(exchange: RunExchange | None) -> PartingSideJson | None:
    return None if exchange is None else {"trace": exchange.trace, "turn": exchange.exchange.turn or None}
