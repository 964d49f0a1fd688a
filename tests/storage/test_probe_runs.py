"""Results of probes: the latest of each endpoint and model."""

from weaklink.storage.probe_runs import ProbeRunRecord
from weaklink.storage.store import Store


def test_the_latest_run_of_each_endpoint_is_read(store: Store) -> None:
    first = ProbeRunRecord("http://a", "m", 1.0, "s1", '{"a": "\ud800"}')
    again = ProbeRunRecord("http://a", "m", 2.0, "s2", "{}")
    other = ProbeRunRecord("http://a", "other\x00", 1.5, "s3", "{}")
    store.probe_runs.put(first)
    assert store.probe_runs.latest() == [first]
    store.probe_runs.put(other)
    store.probe_runs.put(again)
    assert store.probe_runs.latest() == [again, other]
