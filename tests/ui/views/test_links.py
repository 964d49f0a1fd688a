"""Links say the same when they are read as when they were written; whatever else is given is a sentence or an id."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.views.dissect import scenes
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.text import Range
from weaklink.ui.views.links import Link, LinkError, database_option, read_link

_NUMBERS = st.integers(1, 10**11)
_PLACES = st.builds(
    lambda turn, part, start, more: Location(turn, part, Range(start, start + more)),
    _NUMBERS,
    st.text(st.characters(exclude_categories=()), min_size=1, max_size=20),
    st.integers(0, 10**10),
    st.integers(0, 10**10),
)
_IDS = st.text(st.characters(exclude_categories=()), min_size=1, max_size=40)


@given(
    st.one_of(
        st.builds(Link, _IDS),
        st.builds(Link, _IDS, step=_NUMBERS),
        st.builds(Link, _IDS, turn=_NUMBERS),
        st.builds(Link, _IDS, location=_PLACES),
    )
)
def test_a_link_that_was_written_is_read_as_it_was(link: Link) -> None:
    assert read_link(str(link)) == link


def test_a_written_link_holds_nothing_that_a_shell_or_a_terminal_heeds_but_what_stands_between_its_words() -> None:
    link = Link("\x1b]52;c;x\x07 $(reboot)'\u202e", location=Location(1, "call:0\n", Range(0, 2)))
    assert str(link).isascii()
    assert not set(str(link)) & set("\x1b\x07 $()'\n\"`;<>|\\")


@pytest.mark.parametrize(
    ("words", "link"),
    [
        ("weaklink://trace/12", Link("12")),
        ("weaklink://trace/12?step=4&unknown=x", Link("12", step=4)),
        ("weaklink://trace/12?step=4&turn=9", Link("12", step=4)),
        ("WEAKLINK://trace/12?turn=9&start=3", Link("12", turn=9)),
        (
            "http://127.0.0.1:8501/trace?trace=7&turn=3&part=call%3A0&start=5&end=9",
            Link("7", location=Location(3, "call:0", Range(5, 9))),
        ),
        (
            "https://somewhere.example/?trace=7&turn=3&start=5&end=9",
            Link("7", location=Location(3, "text", Range(5, 9))),
        ),
        ("12", Link("12")),
        ("run://of mine?step=4", Link("run://of mine?step=4")),
    ],
)
def test_links_addresses_of_the_web_page_and_ids_are_read(words: str, link: Link) -> None:
    assert read_link(words) == link


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("weaklink://trace/", "names no trace"),
        ("weaklink://tracer/12", "names no trace"),
        ("http://127.0.0.1:8501/trace?turn=3", "expected an address of the web page with `trace=ID`"),
        ("weaklink://trace/12?step=0", "`step` is `0`; expected an integer of at least 1"),
        ("weaklink://trace/12?step=-1", "`step` is `-1`"),
        ("weaklink://trace/12?step=٣", "`step` is `٣`"),
        ("weaklink://trace/12?step=" + "9" * 1_000, "`step` is `99999999999999999999`"),
        ("weaklink://trace/12?turn=1&start=9&end=3", "`start` of 9 is after its `end` of 3"),
        ("weaklink://trace/12?turn=1&turn=2", "two values for `turn`"),
        ("weaklink://trace/%ff", "is not a valid link"),
        ("http://[::1/?trace=3", "is not a valid link"),
        ("weaklink://trace/12?" + "&".join("a=1" for _ in range(50)), "is not a valid link"),
        ("weaklink://trace/" + "x" * 3_000, "longer than 2,000 characters"),
    ],
)
def test_a_link_that_leads_nowhere_is_said(words: str, said: str) -> None:
    with pytest.raises(LinkError) as raised:
        read_link(words)
    assert said in str(raised.value)


@given(
    st.text(st.sampled_from("weaklink://trace/12?step=&turn%f:[]#@\x00\ud800é"), max_size=60).map("weaklink://".__add__)
)
def test_whatever_follows_the_scheme_is_a_link_or_a_sentence(words: str) -> None:
    try:
        read = read_link(words)
    except LinkError:
        return
    assert read.trace


def test_a_place_is_found_in_the_trace_or_not() -> None:
    dissection = scenes.streamed()
    step = dissection.inspection.chain.steps[0]
    assert Link("1", step=1).find(dissection) == step.location
    assert Link("1", step=99).find(dissection) is None
    assert Link("1", turn=99).find(dissection) is None
    assert Link("1", location=Location(2, "nothing", Range(0, 1))).find(dissection) is None
    part = dissection.parts[-1]
    far = Link("1", location=Location(part.turn, part.name, Range(0, 10**9)))
    assert far.find(dissection) == part.location()
    assert Link("1", location=Location(part.turn, part.name, Range(10**8, 10**9))).find(dissection) is None


def test_a_step_leads_to_its_call_and_its_result() -> None:
    dissection = scenes.streamed()
    steps, turns = dissection.inspection.chain.steps, len(dissection.trace.turns)
    assert Link("1", step=1).turns(steps, turns) >= {steps[0].location.turn}
    assert Link("1", step=99).turns(steps, turns) == frozenset()
    assert Link("1", turn=turns + 1).turns(steps, turns) == frozenset()
    assert Link("1").turns(steps, turns) == frozenset()


def test_a_copied_command_names_the_database_from_any_folder_and_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert database_option(None) == ()
    assert database_option("runs.db") == ("--db", str(tmp_path / "runs.db"))
    url = "postgresql://ann:hunter2@db.example:5433/runs?password=hunter2&sslmode=require"
    assert database_option(url) == ("--db", "postgresql://ann:***@db.example:5433/runs")
