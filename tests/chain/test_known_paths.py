"""Whether a path was named before a turn, in texts that are looked through and in texts that are split into names."""

import pytest

from weaklink.inspector.chain.known_paths import KnownPaths
from weaklink.inspector.memoized import memoizing

_TEXTS = (
    (1, "Mend `src/Notes.txt` and config/worker.yaml; which version is it? The harbour/ has a keeper."),
    (3, "namespace /keepers, readme first, ./.gitignore, v1.2\n\tdocs/README.md:12: lamp"),
    (5, "lamp beside /lamps"),
)
_FEW, _MANY = 0, 100
"""How many lookups come before: after some, the texts are split into names."""


@pytest.fixture(params=[_FEW, _MANY])
def known(request: pytest.FixtureRequest) -> KnownPaths:
    paths = KnownPaths(lambda: _TEXTS)
    for number in range(request.param):
        paths.are_named((f"absent{number}",), 9)
    return paths


@pytest.mark.parametrize(
    ("target", "first"),
    [
        ("/home/ada/notes.txt", 1),
        ("worker.yml", 1),  # worker.yaml
        ("noted.txt", 1),  # one letter off
        ("notes.md", 9),  # another suffix
        ("version", 9),  # a plain word
        ("harbour", 1),  # beside a slash
        ("keeper", 9),  # a word, and not the name behind a slash in its own text
        ("readme", 3),
        (".gitignore", 3),
        ("lamp", 5),  # the beginning of a name behind a slash
        ("v1.2", 3),
        ("x", 9),  # too short
    ],
)
def test_a_path_is_named_from_the_first_text_on_that_has_it(known: KnownPaths, target: str, first: int) -> None:
    assert [known.are_named((f"/srv/{target}",), turn) for turn in range(1, 9)] == [
        turn > first for turn in range(1, 9)
    ]


def test_one_named_target_of_several_is_enough(known: KnownPaths) -> None:
    assert known.are_named(("/srv/absent.c", "/srv/notes.txt"), 2)


@pytest.mark.parametrize("name", ["README.md", "Makefile", "src/App.tsx"])
def test_a_name_with_capitals_is_known_as_it_was_written(name: str) -> None:
    known = KnownPaths(lambda: [(1, f"Look at ./{name} first.")])
    assert known.are_named((f"/home/ada/{name}",), before=2)


def test_the_names_of_a_session_that_grows_are_those_of_its_texts_now() -> None:
    begin, other = "Mend notes.txt.", "See tides.md and lamp.json."
    for texts in (
        [(1, begin)],
        [(1, begin), (3, other)],
        [(1, begin), (5, other)],  # another turn
        [(1, begin), (3, "Elsewhere."), (5, other)],  # another text
        [(1, begin)],
        [(1, begin), (3, "See keeper.py.")],
    ):
        with memoizing():
            grown = _named(texts)
        assert grown == _named(texts)


def _named(texts: list[tuple[int, str]]) -> list[bool]:
    known = KnownPaths(lambda: texts)
    names = ("notes.txt", "tides.md", "lamp.jsn", "keeper.py")
    return [known.are_named((name,), turn) for name in names for turn in range(8)]
