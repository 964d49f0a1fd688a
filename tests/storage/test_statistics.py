"""The sums that a database makes are those that Python makes of the same traces."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path
from typing import TypeAlias

import pytest
from msgspec.structs import replace

from benchmarks.postgresql_server import new_database
from tests.storage.conftest import DATABASES
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink import sample_traces
from weaklink.inspector.chain.metrics_figures import TRACE_NUMBERS, TraceFigures
from weaklink.inspector.chain.metrics_groups import MANY_VALUED, Aspect, FigureGroups, FigureSlices, GroupKey, TraceKeys
from weaklink.inspector.checks.schema_complexity import SchemaComplexity, schema_complexity
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Part, Role, ToolDefinition, Trace, Turn
from weaklink.storage.derived_rows import figures_in
from weaklink.storage.filter import FilterError
from weaklink.storage.statistics import keys_of
from weaklink.storage.store import Store, open_store

CASES = Path(__file__).parents[1] / "cases" / "importers"
SINGLE = [(key,) for key in GroupKey]
PAIRS = [pair for pair in permutations(GroupKey, 2) if len(set(pair) & set(MANY_VALUED)) < 2]
SEVERAL = [(), *SINGLE, *PAIRS, (GroupKey.MODEL, GroupKey.SOURCE, GroupKey.DAY)]
Every: TypeAlias = dict[int, tuple[TraceKeys, TraceFigures]]
BREAKABLE = [by for by in SEVERAL if not set(MANY_VALUED) & set(by)]


@pytest.fixture(scope="module")
def samples() -> list[tuple[Trace, Inspection]]:
    """All sample traces, and most of what importers read of their cases."""
    paths = sorted(Path(sample_traces.__file__).parent.glob("*.jsonl"))
    paths += sorted(path for path in CASES.rglob("*") if path.suffix in (".json", ".jsonl", ".traj"))
    traces: list[Trace] = []
    for path in paths:
        try:
            traces += [record for record in read_source(path).records if isinstance(record, Trace)]
        except UnreadableFileError:
            continue  # a case of a broken file
    return [(sample, inspect_trace(sample)) for sample in traces]


@pytest.fixture(scope="module", params=DATABASES)
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, samples: list[tuple[Trace, Inspection]]
) -> Iterator[Store]:
    """A store with all samples, which no test changes."""
    with ExitStack() as kept:
        if request.param == "sqlite":
            where = str(tmp_path_factory.mktemp("statistics") / "weaklink.db")
        else:
            where = kept.enter_context(new_database(request.getfixturevalue("postgresql")))
        store = kept.enter_context(open_store(where))
        store.save(samples)
        store.search.index_pending()
        yield store


@pytest.fixture(scope="module")
def every(filled: Store) -> Every:
    """The keys and figures of all that the store holds, counted in Python, by id."""
    pairs = {summary.id: filled.inspected(summary.id) for summary in filled.traces(limit=10_000)}
    return {id_: (keys_of(*pair), figures_in(*pair)) for id_, pair in pairs.items()}


def test_the_samples_show_all_that_is_counted(filled: Store, every: Every) -> None:
    sums = Counter[str]()
    for _, figures in every.values():
        sums.update(figures.numbers())
    assert [name for name in TRACE_NUMBERS if not sums[name]] == []
    assert len(filled.statistics.figures(by=[GroupKey.SOURCE])) > 10
    assert len(filled.statistics.figures(by=[GroupKey.DAY])) > 3
    assert len(filled.statistics.figures(by=[GroupKey.REASONING])) == 4
    assert {figure.keys for figure in filled.statistics.figures(by=[GroupKey.LAYER])} >= {("read",), ("executed",)}


@pytest.mark.one_in(2)
def test_a_database_adds_up_what_python_adds_up(filled: Store, every: Every) -> None:
    for by in SEVERAL:
        groups = FigureGroups(by)
        for keys, figures in every.values():
            groups.add(keys, figures)
        assert filled.statistics.figures(by=by) == groups.all(), by


@pytest.mark.one_in(2)
def test_a_database_counts_breaks_as_python_does(filled: Store, every: Every) -> None:
    for aspect in Aspect:
        for by in BREAKABLE:
            slices = FigureSlices(aspect, by)
            for keys, figures in every.values():
                slices.add(keys, figures)
            assert filled.statistics.breakdown(aspect, by=by) == slices.all(), (aspect, by)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "expression",
    [
        "status:broken",
        "code:J1 source:openai*",
        "weather",
        "weather status:ok",
        "not weather",
        "status:broken or weather",
        "calls>=2 not source:bfcl",
        "model:nobody",
        "zyzzyva",
    ],
)
def test_a_filter_chooses_the_traces_that_it_lists(filled: Store, every: Every, expression: str) -> None:
    groups, slices = FigureGroups([GroupKey.TOOL]), FigureSlices(Aspect.STEP)
    for summary in filled.traces(expression, limit=10_000):
        keys, figures = every[summary.id]
        groups.add(keys, figures)
        slices.add(keys, figures)
    assert filled.statistics.figures(expression, by=[GroupKey.TOOL]) == groups.all()
    assert filled.statistics.breakdown(Aspect.STEP, expression) == slices.all()


def test_violations_are_summed_over_traces(filled: Store, every: Every) -> None:
    times, traces = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for _, figures in every.values():
        for violation in figures.violations:
            times[violation.tool, violation.path, violation.code] += violation.times
            traces[violation.tool, violation.path, violation.code] += 1
    violations = filled.statistics.violations(limit=1_000)
    assert {(rule.tool, rule.path, rule.code): rule.times for rule in violations} == times
    assert {(rule.tool, rule.path, rule.code): rule.traces for rule in violations} == traces
    assert [violation.times for violation in violations] == sorted(times.values(), reverse=True)
    assert filled.statistics.violations(limit=2) == violations[:2]


def test_an_empty_store_has_no_groups(store: Store) -> None:
    assert store.statistics.figures() == store.statistics.figures(by=[GroupKey.DAY]) == []
    assert store.statistics.breakdown(Aspect.STEP) == []
    assert store.statistics.violations() == []
    assert store.statistics.uncounted() == 0


def test_midnight_belongs_to_the_new_day(store: Store) -> None:
    times = [86_400.0 * 20_000, 86_400.0 * 20_000 - 0.001, 86_400.0 * 20_001 - 0.001, 86_400.0 * 20_001, -0.5]
    pairs = inspected(*(trace(str(at_s), GOOD_CALL, started_s=at_s) for at_s in times), trace("timeless", GOOD_CALL))
    store.save(pairs)
    days = {group.keys[0]: group.traces for group in store.statistics.figures(by=[GroupKey.DAY])}
    assert days == {"2024-10-03": 1, "2024-10-04": 2, "2024-10-05": 1, "1969-12-31": 1, "": 1}
    assert {keys_of(*pair).day for pair in pairs} == days.keys()


def test_a_time_that_no_calendar_has_is_no_day(store: Store) -> None:
    pairs = inspected(trace("far", GOOD_CALL, started_s=1e15))
    store.save(pairs)
    assert (
        [group.keys for group in store.statistics.figures(by=[GroupKey.DAY])] == [(keys_of(*pairs[0]).day,)] == [("",)]
    )


def test_names_that_databases_refuse_come_back_as_they_were(store: Store) -> None:
    odd = "mo\0del \ud800"
    store.save(inspected(trace("a", BAD_CALL, model=odd)))
    assert [group.keys for group in store.statistics.figures(by=[GroupKey.MODEL])] == [(odd,)]


def test_figures_follow_a_new_inspection_and_go_with_their_trace(store: Store) -> None:
    store.save(inspected(trace("a", GOOD_CALL), trace("b", BAD_CALL)))
    store.maintenance.reinspect(inspect_trace)
    assert [group.traces for group in store.statistics.figures()] == [2]
    store.delete(["a"])
    assert [(group.traces, group.tally("well_formed").hits) for group in store.statistics.figures()] == [(1, 0)]
    assert [group.keys for group in store.statistics.figures(by=[GroupKey.TOOL])] == [("get_weather",)]


def test_what_cannot_be_grouped_at_once_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="both tool and code"):
        store.statistics.figures(by=[GroupKey.TOOL, GroupKey.CODE])
    with pytest.raises(ValueError, match="duplicate key"):
        store.statistics.figures(by=[GroupKey.MODEL, GroupKey.MODEL])
    with pytest.raises(ValueError, match="aspect"):
        store.statistics.breakdown(Aspect.STEP, by=[GroupKey.TOOL])
    with pytest.raises(FilterError):
        store.statistics.figures("colour:red")


def test_a_prompt_is_known_by_its_first_words_and_its_tools(store: Store) -> None:
    told = trace("a", GOOD_CALL)
    system = Turn(Role.SYSTEM, (Part("text", "You  are\nhelpful. " + "x" * 500),))
    store.save(inspected(replace(told, turns=(system, *told.turns)), trace("b", GOOD_CALL)))
    hashes = [group.keys[0] for group in store.statistics.figures(by=[GroupKey.PROMPT])]
    prompts = store.statistics.prompts([*hashes, "0" * 12])
    assert prompts.keys() == set(hashes)
    assert {(prompt.words[:18], len(prompt.words), prompt.tools) for prompt in prompts.values()} == {
        ("You are helpful. x", 80, 2),
        ("", 0, 2),
    }


def test_the_schemas_of_tools_are_measured_as_they_were_last_offered(store: Store) -> None:
    store.save(inspected(trace("a", GOOD_CALL)))
    newer = ToolDefinition("get_weather", "The weather", {"type": "object", "properties": {"city": {"type": "string"}}})
    told = trace("b", GOOD_CALL)
    turns = (*told.turns[:1], replace(told.turns[1], generation=Generation(tools=(newer,))))
    store.save(inspected(replace(told, turns=turns)))
    schemas = store.statistics.schemas(["get_weather", "get_time", "nobody"])
    assert schemas == {"get_weather": schema_complexity(newer), "get_time": SchemaComplexity()}
