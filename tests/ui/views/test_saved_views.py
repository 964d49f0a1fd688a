"""Saved views survive the dashboard, one by one and whole."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from weaklink.inspector.errors import WeaklinkError
from weaklink.ui.views import links
from weaklink.ui.views.links import SavedView, forget_view, save_view, views_file


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


def _names() -> list[str]:
    return [view.name for view in links.saved_views()]


def test_a_view_is_there_again_with_its_page_and_state() -> None:
    view = SavedView("Nightly", "traces", {"filter": "status:broken name:nightly*"})
    assert links.saved_views() == []
    save_view(view)
    assert links.saved_views() == [view]


def test_a_view_of_the_same_name_takes_the_place_of_the_first() -> None:
    assert save_view(SavedView("b", "triage", {})) == "The view `b` is saved."
    save_view(SavedView("A", "triage", {}))
    assert save_view(SavedView(" b ", "tools", {"tool": "x"})) == "The view `b` is saved, in place of the one before."
    assert _names() == ["A", "b"]
    assert links.saved_views()[1].page == "tools"


def test_views_that_are_saved_and_forgotten_at_once_are_all_as_they_were_told() -> None:
    names = [f"view {number:02}" for number in range(40)]
    save_view(SavedView("old", "triage", {}))
    with ThreadPoolExecutor(8) as pages:
        list(pages.map(lambda name: save_view(SavedView(name, "traces", {})), names))
        list(pages.map(forget_view, ("old", *names[:20])))
    assert _names() == names[20:]


def test_a_forgotten_view_is_gone_and_the_others_stay() -> None:
    save_view(SavedView("a", "triage", {}))
    save_view(SavedView("b", "triage", {}))
    forget_view("a")
    forget_view("never there")
    assert _names() == ["b"]


def test_nothing_but_the_file_is_left_behind_and_only_its_owner_reads_it() -> None:
    save_view(SavedView("a", "triage", {}))
    assert list(views_file().parent.iterdir()) == [views_file()]
    assert views_file().stat().st_mode & 0o077 == 0


def test_a_view_needs_a_name() -> None:
    with pytest.raises(WeaklinkError, match="needs a name"):
        save_view(SavedView("  ", "triage", {}))


@pytest.mark.parametrize("content", [b"", b"[{", b'{"name": 1}', b'[{"name": "a"}]', b"\xff"])
def test_a_damaged_file_is_said_and_never_written_over(content: bytes) -> None:
    views_file().parent.mkdir(parents=True)
    views_file().write_bytes(content)
    with pytest.raises(WeaklinkError, match="damaged"):
        links.saved_views()
    with pytest.raises(WeaklinkError, match="damaged"):
        save_view(SavedView("a", "triage", {}))
    assert views_file().read_bytes() == content


def test_so_many_views_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MAX_VIEWS", 2)
    for name in "ab":
        save_view(SavedView(name, "triage", {}))
    save_view(SavedView("b", "tools", {}))
    with pytest.raises(WeaklinkError, match="delete one first"):
        save_view(SavedView("c", "triage", {}))


def test_a_folder_that_cannot_be_made_is_said(home: Path) -> None:
    (home / "weaklink").write_text("a file")
    with pytest.raises(WeaklinkError, match="cannot save the views"):
        save_view(SavedView("a", "triage", {}))
