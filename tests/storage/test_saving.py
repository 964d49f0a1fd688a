"""The same trace is kept once, in its longest version."""

from collections.abc import Iterator, Sequence
from threading import Thread, current_thread

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink import storage
from weaklink.inspector.chain.steps import Status
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ExternalId, Instant, Trace
from weaklink.inspector.spool import RecordSpool, SpoolPosition
from weaklink.storage.record_rows import IdentityKind, identity_of
from weaklink.storage.saved import Saved, Verdict
from weaklink.storage.store import Store, open_store
from weaklink.storage.writing import TraceDraft, write


def _saved(store: Store, *traces: Trace) -> list[tuple[int, str]]:
    return [(saved.id, saved.verdict.value) for saved in store.save(inspected(*traces))]


def test_new_traces_get_short_ids_in_order(store: Store) -> None:
    assert _saved(store, trace("a"), trace("b"), trace("c")) == [(1, "added"), (2, "added"), (3, "added")]


def test_the_same_again_is_unchanged(store: Store) -> None:
    _saved(store, trace("a", GOOD_CALL))
    assert _saved(store, trace("a", GOOD_CALL)) == [(1, "unchanged")]
    assert store.maintenance.stats().traces == 1


def test_a_copy_of_the_file_is_the_same_trace(store: Store) -> None:
    sample = trace("a", GOOD_CALL)
    copy = replace(sample, provenance=replace(sample.provenance, file="copy.jsonl", file_sha256="00"))
    _saved(store, sample)
    assert _saved(store, copy) == [(1, "unchanged")]


def test_a_longer_version_replaces_the_shorter_under_its_id(store: Store) -> None:
    _saved(store, trace("a", GOOD_CALL), trace("b"))
    longer = trace("a", GOOD_CALL, BAD_CALL)
    assert _saved(store, longer) == [(1, "replaced")]
    assert store.inspected(1) == (longer, inspect_trace(longer))
    assert (store.summary(1).turns, store.summary(1).errors) == (3, 1)
    assert store.maintenance.stats().traces == 2


def test_a_shorter_version_does_not_replace_the_longer(store: Store) -> None:
    longer = trace("a", GOOD_CALL, BAD_CALL)
    _saved(store, longer)
    assert _saved(store, trace("a", GOOD_CALL)) == [(1, "unchanged")]
    assert store.trace(1) == longer


def test_new_facts_of_the_same_words_replace_the_old(store: Store) -> None:
    _saved(store, trace("a", GOOD_CALL))
    timed = trace("a", GOOD_CALL, started_s=12.5)
    assert _saved(store, timed) == [(1, "replaced")]
    assert store.trace(1).started == Instant(12.5)


def test_versions_in_one_batch_become_one_trace(store: Store) -> None:
    longest = trace("a", GOOD_CALL, BAD_CALL, GOOD_CALL)
    versions = (trace("a"), trace("a", GOOD_CALL), longest, trace("a", GOOD_CALL), longest)
    assert [verdict for _, verdict in _saved(store, *versions)] == [
        "added",
        "replaced",
        "replaced",
        "unchanged",
        "unchanged",
    ]
    assert store.trace(1) == longest
    assert store.maintenance.stats().traces == 1


def test_sources_may_use_the_same_session_ids(store: Store) -> None:
    assert [id_ for id_, _ in _saved(store, trace("a", source="litellm"), trace("a", source="otel"))] == [1, 2]


def test_without_a_session_content_and_record_identify(store: Store) -> None:
    line_1 = trace("", GOOD_CALL, record="line 1")
    assert _saved(store, line_1, trace("", GOOD_CALL, record="line 2"), line_1) == [
        (1, "added"),
        (2, "added"),
        (1, "unchanged"),
    ]


def test_identity_needs_every_external_id_and_not_their_order() -> None:
    sample = trace("a")
    pair = (ExternalId("task_id", "1"), ExternalId("trial", "2"))
    assert identity_of(replace(sample, external_ids=pair)) == identity_of(replace(sample, external_ids=pair[::-1]))
    assert identity_of(replace(sample, external_ids=pair)) != identity_of(replace(sample, external_ids=pair[:1]))
    assert identity_of(replace(sample, external_ids=())).kind is IdentityKind.CONTENT


def test_ids_and_values_do_not_run_into_each_other() -> None:
    first_ids, other = (ExternalId("a", "b=c"),), (ExternalId("a=b", "c"),)
    assert identity_of(replace(trace(), external_ids=first_ids)) != identity_of(replace(trace(), external_ids=other))


def test_a_new_inspection_of_the_same_trace_counts(store: Store) -> None:
    sample = trace("a", BAD_CALL)
    inspection = inspect_trace(sample)
    store.save([(sample, replace(inspection, diagnostics=()))])
    assert store.traces("code:J104") == []
    assert [saved.verdict for saved in store.save([(sample, inspection)])] == [Verdict.UNCHANGED]
    assert store.inspection(1) == inspection
    assert len(store.traces("code:J104")) == 1


def test_what_the_batch_raises_leaves_nothing(store: Store) -> None:
    def breaks() -> Iterator[tuple[Trace, Inspection]]:
        for number in range(500):
            yield from inspected(trace(f"s{number}"))
        raise OSError("the file ends here")

    with pytest.raises(OSError, match="the file ends here"):
        store.save(breaks())
    assert store.maintenance.stats().traces == 0
    assert _saved(store, trace("a")) == [(1, "added")] or store.maintenance.stats().traces == 1


def test_nothing_saved_is_nothing(store: Store) -> None:
    assert store.save([]) == []


def test_an_id_that_was_shown_never_means_another_trace(database: str) -> None:
    with open_store(database) as store:
        _saved(store, trace("a"), trace("b"))
        store.delete([2])
    with open_store(database) as store:
        assert _saved(store, trace("c")) == [(3, "added")]


def test_writers_wait_for_each_other(database: str) -> None:
    with open_store(database) as store:
        threads = [Thread(target=lambda: [store.save(inspected(trace(f"s{n}"))) for n in range(10)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(summary.id for summary in store.traces()) == list(range(1, 11))


def test_a_summary_says_what_lists_show(store: Store) -> None:
    sample = trace("a", BAD_CALL, started_s=5.0)
    _saved(store, sample)
    got = store.summary("a")
    assert (got.name, got.source, got.file, got.record) == ("a", "openai-messages", "log.jsonl", "line 1")
    assert (got.model, got.format, got.started_at_s, got.external_ids) == ("hermes-4", "hermes", 5.0, {"session": "a"})
    assert (got.turns, got.tool_calls, got.errors, got.warnings) == (2, 1, 1, 0)
    assert (got.input_tokens, got.output_tokens, got.duration_s) == (10, 20, None)
    assert got.status is Status.BROKEN
    assert got.broken == inspect_trace(sample).chain.broken


def test_other_writers_do_not_wait_while_traces_are_read(store: Store, database: str) -> None:
    store.save(inspected(trace("marked")))

    inspection = inspect_trace(trace("s0"))

    def reads() -> Iterator[tuple[Trace, Inspection]]:
        with open_store(database, busy_timeout_s=0.05) as other:
            for number in range(450):
                other.marks.put(1, note=str(number))
                yield trace(f"s{number}"), inspection

    assert [saved.verdict for saved in store.save(reads())] == [Verdict.ADDED] * 450
    assert store.marks.of([1])[1][0].note == "449"
    assert store.trace(451) == trace("s449")


@pytest.mark.parametrize("error", [KeyboardInterrupt, StoreError])
def test_of_a_save_that_fails_after_many_traces_nothing_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    store.save(inspected(trace("before"), trace("s1")))
    inspection = inspect_trace(trace("s0"))
    written: list[int] = []

    def fails(connection: sa.Connection, drafts: Sequence[TraceDraft], now_s: float) -> list[Saved]:
        if len(written) == 2:
            raise error
        written.append(len(drafts))
        return write(connection, drafts, now_s)

    monkeypatch.setattr(storage.store, "write", fails)
    with pytest.raises(error):
        store.save((trace(f"s{number}", words="what is the weather in Paris?"), inspection) for number in range(450))
    assert written == [200, 200]
    assert {summary.name for summary in store.traces()} == {"before", "s1"}
    assert all(store.trace(summary.id).turns == trace(summary.name).turns for summary in store.traces())


def test_what_one_save_meets_as_stored_stays_if_another_one_is_interrupted(
    store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inspection = inspect_trace(trace("s0"))
    whole = [(trace(f"s{number}"), inspection) for number in range(450)]
    answers: list[Saved] = []

    def saves_too() -> None:
        with open_store(database) as other:
            answers.extend(other.save(whole))

    second = Thread(target=saves_too)

    def interrupted(spool: RecordSpool, position: SpoolPosition) -> bytes:
        if current_thread() is not second and position[0]:  # the third group of the first save
            second.start()
            second.join(1.0)
            raise KeyboardInterrupt
        return get(spool, position)

    get = RecordSpool.get
    monkeypatch.setattr(RecordSpool, "get", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.save(whole)
    second.join()
    assert {saved.id for saved in answers} == {summary.id for summary in store.traces(limit=1_000)}
    assert len({saved.id for saved in answers}) == 450
