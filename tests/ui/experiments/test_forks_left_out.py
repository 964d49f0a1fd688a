"""Traces of `ask`, `doctor` and `replay` are in no list and no sum, unless the filter asks for them."""

import json
import sys
from pathlib import Path

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.chat_client import CHAT_CLIENT
from tests.capture.upstream import running_upstream
from tests.ui.conftest import run_text
from weaklink.inspector.chain.metrics_groups import GroupKey
from weaklink.storage.store import open_store
from weaklink.ui.agent_server import TraceTools

_AGENT = f"""{CHAT_CLIENT}
try: create(model="m", messages=[{{"role": "user", "content": sys.argv[1]}}])
except OSError as error: print(error)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one real session, then `ask`, `doctor`, a replay that diverges and one that forks."""
    path = tmp_path_factory.mktemp("forks")
    agent = (sys.executable, "-c", _AGENT)
    with running_upstream(scripted.chat_answer("Hi.")) as upstream:
        server = ("--upstream", upstream.url, "--db", "t.db")
        done = [
            run_text(path, "run", *server, "--", *agent, "Hello"),
            run_text(path, "ask", "1", "--turn", "2", *server, "-n", "2", "--yes"),
            run_text(path, "doctor", "-n", "2", *server, "--", *agent, "Hello"),
            run_text(path, "replay", "1", "--db", "t.db", "--", *agent, "Other"),
            run_text(path, "replay", "1", "--fork", "0", *server, "--", *agent, "Hello"),
        ]
    assert [process.returncode for process in done] == [0, 0, 0, 3, 0], [process.stderr for process in done]
    return path


def _sources(folder: Path, *words: str) -> list[str]:
    done = run_text(folder, "list", "--db", "t.db", "--json", *words)
    assert done.returncode == 0, done.stderr
    return sorted(json.loads(line)["source"] for line in done.stdout.splitlines())


def test_lists_leave_them_out_unless_asked(folder: Path) -> None:
    everything = [*["ask"] * 2, *["doctor"] * 2, "record", *["replay"] * 2]
    assert _sources(folder) == ["record"]
    assert _sources(folder, "model:hermes-4-70b or model:m") == ["record"]
    assert _sources(folder, "forks:no") == ["record"]
    assert _sources(folder, "forks:yes") == everything
    assert _sources(folder, "id:>0") == everything
    assert _sources(folder, "source:doctor") == ["doctor"] * 2
    for order in ("longest", "tokens", "errors", "broken"):
        assert _sources(folder, "--sort", order) == ["record"]


def test_sums_leave_them_out_unless_asked(folder: Path) -> None:
    with open_store(folder / "t.db") as store:
        for _ in range(2):  # without and with stored sums
            assert [figure.traces for figure in store.statistics.figures()] == [1]
            assert [figure.traces for figure in store.statistics.figures("forks:yes")] == [7]
            assert [figure.traces for figure in store.statistics.figures(by=(GroupKey.SOURCE,))] == [1]
            assert store.statistics.uncounted() == 0
        assert store.paging().count() == 1
        assert store.paging().status_counts() == {"ok": 1}
        assert sum(store.paging().status_counts("forks:yes").values()) == 7


def test_reports_leave_them_out_unless_asked(folder: Path) -> None:
    for words, count in (((), 1), (("forks:yes",), 7)):
        done = run_text(folder, "stats", "--db", "t.db", *words)
        assert f"{count} trace" in done.stdout, done.stderr
    done = run_text(folder, "report", "--db", "t.db", "-o", "report")
    assert done.returncode == 0, done.stderr
    assert "1 trace, 0 broken" in (folder / "report" / "index.html").read_text()


def test_whoever_reads_the_newest_leaves_them_out_unless_asked(folder: Path) -> None:
    with open_store(folder / "t.db") as store:
        store.search.index_pending()
        assert [summary.source for summary in store.traces()] == ["record"]
        assert [summary.source for summary in store.traces("model:hermes-4-70b or model:m")] == ["record"]
        assert len(store.traces("forks:yes")) == 7
        assert [hit.trace.source for hit in store.search.find("hello").hits] == ["record"]
        newest = store.newest("status:ok")
        assert newest is not None
        assert newest.source == "record"
    listed = TraceTools(str(folder / "t.db")).list_traces()
    assert [line for line in listed.splitlines() if line.startswith("1 ")] == listed.splitlines()[2:]
    for words, count in (("status:ok", 1), ("status:ok forks:yes", 6)):
        done = run_text(folder, "data", "annotate", "--filter", words, "--db", "t.db")
        assert len(done.stdout.splitlines()) == count, done.stderr


def test_a_replays_divergence_is_no_error_of_a_server(folder: Path) -> None:
    with open_store(folder / "t.db") as store:
        (diverged,) = [summary for summary in store.traces("source:replay") if "divergence" in summary.external_ids]
        trace, inspection = store.inspected(diverged.id)
        assert inspection.diagnostics == ()
        assert trace.turns[-1].generation is not None
        assert trace.turns[-1].generation.error is None
        assert trace.provenance.warnings[0].startswith("The replay diverged at request 1")
        assert store.statistics.figures("forks:yes code:C505") == []
