"""A star at the end of a name or an external id: the range of the index holds what a plain scan finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from inspector.model import ExternalId
from storage import Store
from storage.filter.folding import after_prefix
from tests.storage.conftest import NewStore
from tests.storage.samples import GOOD_CALL, inspected, trace

_NAMES = (
    *("Ärger", "ärger", "ÄRGER im Haus", "Straße", "STRASSE", "strasse 2", "İstanbul", "istanbul", "ıx", "I", "i"),
    *("z", "Z", "zz", "Zebra", "z{", "[x", "{x", "`x", "@x", "@A", "a", "A_b", "A%b", "a\\b", "axb", " a", "a ", "a a"),
    *("\ud7ff", "\ud7ff\ue000", "\ue000", "\U0010ffff", "a\U0010ffff", "a\U0010ffffb", "\U0010ffff\U0010ffff"),
    *(
        "\ud800 lone",
        "nul \0 inside",
        "KELVIN",
        "\u212aelvin",
        "kelvin",
        "ΑΣ",
        "ασ",
        "ας",
        "ΑΣΑ",
        "ασα",
        "日本",
        "日本語",
    ),
    *("n" * 199, "N" * 200, "n" * 201, "n" * 200 + "A", "n" * 200 + "b", "long " * 900),
)
_LENGTHS = (1, 2, 3, 199, 200, 201)


def _prefixes() -> list[str]:
    """What the names begin with, in other cases too."""
    begun = {name[:end] for name in _NAMES for end in _LENGTHS}
    return sorted({form for text in begun for form in (text, text.upper(), text.lower(), text.swapcase())})


@pytest.fixture(scope="module")
def named(new_store: NewStore) -> Store:
    """A trace of each name, which is its external id too."""
    store = new_store()
    made = (
        replace(trace(f"s{at}", GOOD_CALL, started_s=float(at)), name=name, external_ids=(ExternalId("k", name),))
        for at, name in enumerate(_NAMES)
    )
    store.save(inspected(*made))
    return store


@pytest.mark.one_in(3)
@pytest.mark.parametrize("key", ["name", "session"])
@pytest.mark.parametrize("common", [2_000, 1])
def test_a_range_holds_what_a_plain_scan_finds(named: Store, key: str, common: int) -> None:
    wanted = [f"{key}:{_quoted(prefix + star)}" for prefix in _prefixes() for star in ("*", "")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storage.filter.planner.ENOUGH", common)
        patch.setattr("storage.filter.selectivity.ENOUGH", common)
        found = {one: _ids(named, one) for one in wanted}
        patch.setattr("storage.filter.planner.folded_range", lambda *_: None)
        assert found == {one: _ids(named, one) for one in wanted}
    assert len({tuple(ids) for ids in found.values()}) > len(_NAMES)


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\") + '"'


def _ids(store: Store, wanted: str) -> list[int]:
    return [one.id for one in store.traces(wanted, limit=200)]


@given(st.text(), st.text())
def test_behind_a_prefix_is_what_begins_otherwise(prefix: str, text: str) -> None:
    end = after_prefix(prefix)
    for one in (text, prefix + text, prefix[:-1] + text):
        is_within = one >= prefix and (end is None or one < end)
        assert is_within or not one.startswith(prefix)
        assert not is_within or end is None or one.startswith(prefix)
