"""Options, profiles and fixtures that every test may use."""

import gc
import os
import re
import signal
from collections import defaultdict
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

# HYPOTHESIS_PROFILE chooses: `dev` while writing, `ci` (the default) in the gate, `full` in `make test-slow`,
# and `fuzz` for a night.
_EXAMPLES = {"dev": 50, "ci": 10, "full": 500, "fuzz": int(os.environ.get("WEAKLINK_FUZZ_EXAMPLES", "1000000"))}
for _name, _examples in _EXAMPLES.items():
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,  # a slow machine is no fault of the code
        derandomize=_name == "ci",  # a gate is no lottery; the others look somewhere else each time
        print_blob=True,  # the failure says how to see it again
        suppress_health_check=[HealthCheck.too_slow],
    )
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in `make test &`; what tests start would ignore Ctrl-C too
    signal.signal(signal.SIGINT, signal.default_int_handler)
# With Python's own 700 the collector takes 4 to 9 % of the time of tests that compute (1 December 2026).
_GC_THRESHOLDS = (50_000, 20, 100)
_DATABASE = re.compile("sqlite|postgresql")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens",
        action="store_true",
        help="rewrite the expected results in tests/cases and the generated parts of README.md and docs",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector: what is collected lives as long as the tests, and none looks through it.

    49,000 tests are a sixth faster to collect so, and each worker collects all of them (30 November 2026).
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*_GC_THRESHOLDS)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the cases of a test with `@pytest.mark.one_in(n)`, the gate runs one in n for each database."""
    if config.getoption("--update-goldens"):
        return
    cases: defaultdict[tuple[str, ...], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("one_in"):
            test, _, case = item.nodeid.partition("[")
            cases[test, *_DATABASE.findall(case)].append(item)
    for some in cases.values():
        some.sort(key=lambda item: crc32(item.nodeid.encode()))  # the same in every run, and no stride through a table
        mark = some[0].get_closest_marker("one_in")
        assert mark is not None
        for item in some[-(-len(some) // mark.args[0]) :]:
            item.add_marker(pytest.mark.slow)


pytest.register_assert_rewrite("tests.case_files")  # its comparison shows the lines that differ


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    """Whether a golden test shall write down what it got instead of comparing."""
    return bool(request.config.getoption("--update-goldens"))


_USER_FOLDERS = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
_numbers = count()


@pytest.fixture(scope="session", autouse=True)
def users_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of all user's folders (data, settings, state, cache); what outlives a test has its own in it."""
    folder = tmp_path_factory.mktemp("users")
    with pytest.MonkeyPatch.context() as patched:
        _move_user_folders(patched, folder / "all")
        yield folder


@pytest.fixture(autouse=True)
def own_user_folders(users_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has its own user's folders, which do not exist yet: it never reads or writes the developer's."""
    _move_user_folders(monkeypatch, users_folder / str(next(_numbers)))


def _move_user_folders(patched: pytest.MonkeyPatch, folder: Path) -> None:
    for name in _USER_FOLDERS:
        patched.setenv(name, str(folder / name.removeprefix("XDG_").lower()))
