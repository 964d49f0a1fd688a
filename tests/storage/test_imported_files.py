"""What is known of an imported file goes with its traces."""

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.storage.known_files import ImportedFile
from weaklink.storage.store import Store

FILE = ImportedFile(b"place", b"settings", 1, None, b"\0sha", b"{}")


def test_a_file_is_known_until_one_of_its_traces_is_deleted(store: Store) -> None:
    ids = [saved.id for name in "ab" for saved in store.save(inspected(trace(name, GOOD_CALL)))]
    other = ImportedFile(b"elsewhere", b"settings", 1 << 40, 1 << 60, b"\0sha", b"{}")
    store.imported_files.put([(FILE, ids), (other, [])])
    store.imported_files.put([(FILE, [*ids, *ids])])
    places = [b"place", b"elsewhere", b"nowhere"]
    assert store.imported_files.of(places, b"settings") == {b"place": FILE, b"elsewhere": other}
    assert store.imported_files.of(places, b"other settings") == {}
    store.save(inspected(trace("a", GOOD_CALL, BAD_CALL)))
    assert store.imported_files.of(places[:1], b"settings") == {b"place": FILE}
    store.delete(ids[1:])
    assert store.imported_files.of(places, b"settings") == {b"elsewhere": other}
    assert store.maintenance.check().problems == ()


def test_a_file_of_which_a_trace_is_gone_is_not_known(store: Store) -> None:
    store.imported_files.put([(FILE, [10_000])])
    assert store.imported_files.of([b"place"], b"settings") == {}
