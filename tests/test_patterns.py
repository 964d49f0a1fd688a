"""No regular expression holds what some of the supported interpreters match wrongly (see inspector/scanning.py)."""

import ast
import gc
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # missing in typeshed
from types import FrameType
from typing import Any

import pytest

from weaklink.inspector.redaction import rules
from weaklink.inspector.scanning import (
    MAX_ROUNDS,
    QuoteSearch,
    _LazyPattern,
    closing_quote,
    end_of_repeats,
    lazy_pattern,
    repeated,
    trailing_backslashes,
)

ROOT = Path(__file__).parent.parent
PACKAGES = ("inspector", "storage", "ui", "sample_traces")
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
# A possessive repeat of a group, and an atomic group, as they are written.
_WRITTEN = re.compile(r"(?<!\\)\)(?:[*+?]|\{[\d,]*\})\+|\(\?>")
# What stands between two literals that are one string; a file without such a pattern behind it is not parsed.
_JOINED = re.compile(r"[\"']\s*[rbfRBF]{0,2}[\"']")


def wrong(parsed: Any) -> Iterator[str]:
    """What a parsed pattern holds that is not safe: a possessive repeat of more than one character, an atomic group."""
    if isinstance(parsed, tuple | list | _parser.SubPattern):
        if isinstance(parsed, tuple) and parsed and parsed[0] is _constants.ATOMIC_GROUP:
            yield "an atomic group"
        if isinstance(parsed, tuple) and parsed and parsed[0] is _constants.POSSESSIVE_REPEAT:
            yield from () if _compiler._simple(parsed[1][2]) else ("a possessive repeat of more than one character",)
        for inner in parsed:
            yield from wrong(inner)


def written_wrong(source: str) -> Iterator[str]:
    """The string literals of a source that look like such a pattern, or like a part of one."""
    if not _WRITTEN.search(_JOINED.sub("", source).replace("{{", "{").replace("}}", "}")):
        return
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in docstrings:
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            if _WRITTEN.search(text.replace("{{", "{").replace("}}", "}")):
                yield f"line {node.lineno}"


WRONG = ["(?:ab?c)*+", "(?:a|bc)++", "x(?:y(?:ab)*+)", "(?=(?:ab)?+)", "(?>a)", "(a|(?>b))"]


@pytest.mark.parametrize("pattern", WRONG)
def test_what_is_wrong_is_seen(pattern: str) -> None:
    assert list(wrong(_parser.parse(pattern)))
    assert list(written_wrong(f"PATTERN = re.compile(r'{pattern}')"))
    assert list(written_wrong(f"PATTERN = rf'{pattern}{{other}}'"))


@pytest.mark.parametrize("pattern", ["[^a]*+b", r"\s++", "x?+", r"(?:[^\\]++|\\.){0,9}", r"[a-z]{1,64}+", r"\(++"])
def test_a_possessive_repeat_of_one_character_is_allowed(pattern: str) -> None:
    assert not list(wrong(_parser.parse(pattern)))
    assert not list(written_wrong(f"PATTERN = re.compile(r'{pattern}')"))


def test_no_pattern_of_the_table_of_redaction_is_wrong() -> None:
    table = rules.RULES
    written = [*table.patterns.values(), *table.relations.values(), *(rule.pattern for rule in table.detectors)]
    assert len(written) > 100
    assert not [pattern for pattern in written if list(wrong(_parser.parse(rules.pattern(pattern))))]


def test_no_source_writes_such_a_pattern() -> None:
    by_name = {path.name: list(written_wrong(path.read_text(encoding="utf-8"))) for path in SOURCES}
    assert not {name: lines for name, lines in by_name.items() if lines}


@pytest.mark.slow
def test_no_module_compiles_such_a_pattern() -> None:
    """Nor one that is put together: all that the packages compile while they are imported, in a fresh process."""
    command = [sys.executable, "-c", "from tests.test_patterns import print_compiled; print_compiled()"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    count, *problems = done.stdout.splitlines()
    assert int(count) > 500
    assert not problems


def test_a_lazy_pattern_compiles_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_pattern = re.compile

    def note(pattern: str, flags: re.RegexFlag) -> re.Pattern[str]:
        compiled.append(pattern)
        return compile_pattern(pattern, flags)

    monkeypatch.setattr(re, "compile", note)
    lazy = lazy_pattern(r"(?P<word>B+)", re.IGNORECASE)
    assert not compiled
    match = lazy.search("abba")
    assert match is not None
    assert match["word"] == lazy.findall("abba")[0] == "bb"
    assert (lazy.pattern, lazy.flags, lazy.groups) == (r"(?P<word>B+)", re.IGNORECASE | re.UNICODE, 1)
    assert len(compiled) == 1


def print_compiled() -> None:
    """Import everything and use every pattern; print how many of ours were compiled, then each that is wrong."""
    patterns: dict[str, str] = {}
    compile_pattern = _compiler.compile

    def note(pattern: str | bytes | list[object], flags: int = 0) -> object:
        caller = str(Path(_caller(sys._getframe(1))).resolve())
        if isinstance(pattern, str | bytes) and caller.startswith(tuple(str(ROOT / package) for package in PACKAGES)):
            patterns[f"{caller}: {pattern!r}"] = "; ".join(wrong(_parser.parse(pattern, flags)))
        return compile_pattern(pattern, flags)

    _compiler.compile = note
    for package in (f"weaklink.{name}" for name in PACKAGES):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.startswith(("weaklink.storage.migrations", "weaklink.ui.web.script")):
                importlib.import_module(module.name)
    for referrer in gc.get_objects():
        if isinstance(referrer, _LazyPattern):
            assert referrer.flags
    lines = [f"{where}: {what}" for where, what in patterns.items() if what]
    sys.stdout.write("\n".join((str(len(patterns)), *lines)))


def _caller(frame: FrameType | None) -> str:
    while frame is not None and (frame.f_globals.get("__name__") or "").partition(".")[0] in ("re", "functools"):
        frame = frame.f_back
    return frame.f_code.co_filename if frame is not None else ""


def texts(seed: int, count: int) -> Iterator[str]:
    random = Random(seed)
    for _ in range(count):
        yield "".join(random.choices('\\\\\'""ab\n', k=random.randint(0, 14)))


def test_a_closing_quote_is_the_first_that_is_not_escaped() -> None:
    for text in texts(1, 3000):
        for start in range(len(text) + 1):
            index, expected = start, -1
            while index < len(text):
                if text[index] == '"':
                    expected = index
                    break
                index += 2 if text[index] == "\\" else 1
            assert closing_quote(text, '"', start, len(text)) == expected
            assert closing_quote(text.encode(), b'"', start, len(text)) == expected


def test_a_search_that_remembers_finds_the_same() -> None:
    random = Random(2)
    for text in texts(3, 2000):
        search = QuoteSearch()
        for _ in range(6):
            behind = [index + 1 for index, character in enumerate(text) if character in "\"'"] or [0]
            start, end, quote = random.choice(behind), random.randint(0, len(text)), random.choice("\"'")
            if start <= end:
                assert search.find(text, quote, start, end) == closing_quote(text, quote, start, end)


def test_repeats_go_on_beyond_their_bound() -> None:
    rounds = repeated(r"a|\\.")
    text = "a\\x" * MAX_ROUNDS * 2 + "b"
    assert end_of_repeats(rounds, text, 0, len(text)) == len(text) - 1
    assert end_of_repeats(rounds, text, 0, 5) == 4
    assert end_of_repeats(rounds, text, len(text) - 1, len(text)) == len(text) - 1
    assert trailing_backslashes("a\\\\", 0, 3) == 2
    assert trailing_backslashes("a\\\\", 2, 3) == 1
