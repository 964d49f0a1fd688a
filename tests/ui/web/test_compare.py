"""Comparing: runs step by step, whole groups with the sentence whether they differ by more than noise."""

from pathlib import Path

import pytest

from tests.storage import samples
from tests.ui.web.apps import address, page, said_in
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.storage.store import open_store

_GOOD = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
_BAD = '<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>'


@pytest.fixture(scope="module")
def two_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty traces each of a model that breaks its calls and of one that never does."""
    folder = tmp_path_factory.mktemp("groups") / "groups.db"
    with open_store(folder) as store:
        for model, text in (("steady", _GOOD), ("shaky", _BAD)):
            for number in range(20):
                turns = (
                    Turn(Role.USER, (Part("text", f"{model} {number}"),)),
                    Turn(Role.ASSISTANT, (Part("text", text),)),
                )
                trace = Trace(turns, name=f"{model}-{number}", model=model, format="hermes")
                store.save([(trace, inspect_trace(trace))])
    return folder


def test_groups_that_differ_are_said_to_differ_by_more_than_noise(two_models: Path) -> None:
    app = page("compare", two_models, what="groups", by="model", base="steady")
    said = said_in(app)
    assert "more than noise (Holm-corrected, at 5 %)" in said
    assert "from model steady" in said


def test_groups_that_do_not_differ_are_said_not_to(two_models: Path) -> None:
    with open_store(two_models, create=False) as store:
        assert len(store.traces("model:steady", limit=100)) == 20
    app = page("compare", two_models, what="groups", by="format")
    assert "nothing to compare" in app.info[0].value


def test_the_baseline_and_the_other_side_stand_in_the_address(two_models: Path) -> None:
    app = page("compare", two_models, what="groups")
    base = next(selectbox for selectbox in app.selectbox if selectbox.label == "Baseline")
    assert [option.partition(" ")[0] for option in base.options] == ["shaky", "steady"]
    base.select_index(1).run()
    assert address(app) == {"what": "groups", "base": "steady"}
    other = next(selectbox for selectbox in app.selectbox if selectbox.label == "Against")
    other.select_index(1).run()
    assert address(app) == {"what": "groups", "base": "steady", "other": "shaky"}


def test_another_key_begins_anew(two_models: Path) -> None:
    app = page("compare", two_models, what="groups", base="steady")
    next(selectbox for selectbox in app.selectbox if selectbox.label == "Group by").select("source").run()
    assert address(app) == {"what": "groups", "by": "source"}


def test_two_runs_are_laid_side_by_side(two_models: Path) -> None:
    with open_store(two_models, create=False) as store:
        good, bad = (store.traces(f"model:{model}", limit=1)[0].id for model in ("steady", "shaky"))
    app = page("compare", two_models, runs=f"{good} {bad}")
    assert "differ first at step 1" in said_in(app)
    assert "earlier turns" not in said_in(app)
    app.toggle(key="weaklink_requests_False").set_value(True).run()
    assert "Turn 2: request not recorded; earlier turns" in said_in(app)
    app.button(key="weaklink_rotate").click().run()
    assert address(app) == {"runs": f"{bad} {good}", "requests": "shown"}


def test_runs_are_named_by_any_id_and_what_is_left_out_is_said(tmp_path: Path) -> None:
    database = tmp_path / "ids.db"
    with open_store(database) as store:
        store.save(
            samples.inspected(
                *(samples.trace(f"run-{number}", samples.GOOD_CALL, words=f"go {number}") for number in range(8, 0, -1))
            )
        )
    app = page("compare", database, runs="run-1, run-2")
    assert "The first user message differs" in said_in(app)
    app.button(key="weaklink_rotate").click().run()
    assert address(app) == {"runs": "7 8"}
    app = page("compare", database, runs="1 2 3 4 5 6 7")
    assert "Only the first 6 of 7 traces are compared." in [caption.value for caption in app.caption]


def test_no_runs_yet_offers_some(two_models: Path) -> None:
    assert "Enter two to six trace ids" in page("compare", two_models).info[0].value
