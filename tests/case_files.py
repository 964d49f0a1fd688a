"""Case files: YAML that a reviewer reads as text, loaded once each, and updated without touching unchanged cases.

A file is a mapping. `tools` (optional) gives names to lists of tool definitions; every other key holds a list of cases,
each of which begins with `- ` in the first column and has its own keys two columns further in. A case that has
`tools: NAME` is loaded with the list of that name. `--update-goldens` replaces single keys of single cases as text, so
that comments and the order of a case's inputs stay.
"""

import fcntl
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import yaml

CaseFields = dict[str, Any]

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml where PyYAML was built with it: ten times faster
_LONGEST_FLOW = 100
_NUMBER = r"-?(?:0|[1-9][0-9]*)"
_PLAIN = re.compile(r"[^\W_](?:[^:#]|:(?=[^ ])|(?<! )#)*")
_CASE = re.compile(r"^- ", re.MULTILINE)
_KEY = re.compile(r"^(?:- |  )(?=\S)", re.MULTILINE)


class _Loader(LOADER):  # type: ignore[misc]  # chosen at run time
    """Plain scalars mean what they mean in JSON (`yes`, `12:30` and dates are text); a key comes once."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        made: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        assert len(made) == len(node.value), f"a key comes twice in the mapping at{node.start_mark}"
        return made


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:null)?$"), ["n", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(rf"^{_NUMBER}$"), list("-0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(rf"^{_NUMBER}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"),
    list("-0123456789"),
)
# YAML has no lone surrogates; `!json '"\ud83d"'` is how a case holds one.
_Loader.add_constructor("!json", lambda loader, node: json.loads(loader.construct_scalar(node)))


@cache
def load(path: Path) -> dict[str, tuple[CaseFields, ...]]:
    """The lists of cases of a file, with the tools that they name; the file is parsed once a run.

    A case with `rows` has them as its text, JSON lines.
    """
    content: dict[str, Any] = yaml.load(path.read_bytes(), _Loader)  # a subclass of the safe loader
    tools = content.pop("tools", {})
    for cases in content.values():
        for case in cases:
            if "rows" in case:
                case["text"] = "\n".join(map(_row_text, case["rows"]))
            assert isinstance(case.get("text", ""), str), f"a text in {path} is not a string: quote it"
            if isinstance(case.get("tools"), str):
                case["tools"] = tools[case["tools"]]
    return {name: tuple(cases) for name, cases in content.items()}


def _row_text(row: object) -> str:
    """A line of a data file: a row as JSON, or as it is where the case has it as text."""
    return row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)


def cases_of(path: Path) -> tuple[CaseFields, ...]:
    """The list `cases` of a file; its cases have ids, and each id is unique in the file."""
    cases = load(path)["cases"]
    ids = [case["id"] for case in cases]
    assert len(set(ids)) == len(ids), f"an id comes twice in {path}"
    return cases


def compare(
    path: Path, number: int, keys: Iterable[str], result: Mapping[str, object], *, update_goldens: bool
) -> None:
    """Assert that the case with this number (from 0 in `cases`) expects what was found, or write that into the file."""
    case = load(path)["cases"][number]
    expected = {key: case[key] for key in keys if key in case}
    if not update_goldens:
        assert fields_text(result) == fields_text(expected), "if this is right, `pytest --update-goldens` writes it"
    elif result != expected:
        update(path, number, keys, result)


def update(path: Path, number: int, keys: Iterable[str], result: Mapping[str, object]) -> None:
    """Replace `keys` of the case with this number (from 0) by `found`; everything else of the file keeps its text."""
    with path.open("r+", encoding="utf-8", newline="\n") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # several test processes may update one file
        text = file.read()
        starts = [match.start() for match in _CASE.finditer(text)]
        start, end = starts[number], [*starts, len(text)][number + 1]
        lines = text[start:end].split("\n")
        while not lines[-1] or lines[-1].startswith("#"):  # blank lines, and comments on what follows
            end -= len(lines.pop()) + 1
        file.seek(0)
        file.write(text[:start] + _updated("\n".join(lines), tuple(keys), result) + text[end:])
        file.truncate()


def _updated(case: str, keys: tuple[str, ...], result: Mapping[str, object]) -> str:
    """The text of a case with other values for `keys`, which come last."""
    starts = [match.start() for match in _KEY.finditer(case)]
    fields = [case[start:end].removesuffix("\n") for start, end in zip(starts, [*starts[1:], len(case)], strict=True)]
    old = tuple(f"{key}:" for key in keys)
    kept = [field for field in fields if not field.lstrip("- ").startswith(old)]
    return "\n".join([*kept, *("  " + line if line else "" for line in _fields(result))])


def case_text(case: Mapping[str, object]) -> str:
    """A case as a file holds it, an item of a list in the first column."""
    return "\n".join(_item(case)) + "\n"


def fields_text(fields: Mapping[str, object]) -> str:
    """A mapping as a file holds it, in the first column."""
    return "\n".join(_fields(fields)) + "\n"


def _fields(fields: Mapping[str, object]) -> list[str]:
    last = next(reversed(list(fields)), None)
    return [line for key, value in fields.items() for line in _field(key, value, is_last=key == last)]


def _field(key: str, value: object, *, is_last: bool) -> list[str]:
    first, *more = _lines(value) if is_last or not isinstance(value, str) else _text_lines(value)
    return [f"{_scalar(key)}: {first}" if first else f"{_scalar(key)}:", *more]


def _item(value: object) -> list[str]:
    first, *more = _lines(value, is_item=True)
    return [f"- {first}", *more] if first else [f"- {more[0][2:]}", *more[1:]]


def _lines(value: object, is_item: bool = False) -> list[str]:
    """What comes after the colon or dash, and the lines below: a block of text, a value in JSON's syntax, or fields."""
    if isinstance(value, str):
        return _text_lines(value, is_last=True)
    flow = _json_tag(value) or _escaped(json.dumps(value, ensure_ascii=False))
    is_case = is_item and isinstance(value, dict) and "text" in value
    if not isinstance(value, dict | list) or not value or (len(flow) <= _LONGEST_FLOW and not is_case):
        return [flow]
    below = _fields(value) if isinstance(value, dict) else [line for element in value for line in _item(element)]
    return ["", *("  " + line if line else "" for line in below)]


def _text_lines(text: str, *, is_last: bool = False) -> list[str]:
    """A text as a literal block; on the key's line if it is one line; quoted where a block would hide a character.

    Blank lines at the end are part of a block only where something follows: after the last field they part the cases.
    """
    if "\n" not in text and not ("'" in text and '"' in text and text.isprintable() and text == text.strip()):
        return [_scalar(text)]
    lines = text.removesuffix("\n").split("\n")
    is_blank_at_end = not lines[-1] and (is_last or not any(lines))
    if is_blank_at_end or any(not line.isprintable() or line.endswith(" ") for line in lines):
        return [_json_tag(text)] if _json_tag(text) else _quoted_lines(text)
    explicit = "2" if not lines[0] or lines[0].startswith(" ") else ""
    chomping = "+" if not lines[-1] else "" if text.endswith("\n") else "-"
    return [f"|{explicit}{chomping}", *("  " + line if line else "" for line in lines)]


def _quoted_lines(text: str) -> list[str]:
    """A text in double quotes, with a line of the file for each of its lines."""
    lines = [_escaped(json.dumps(line, ensure_ascii=False))[1:-1] for line in re.findall(r"[^\n]*\n|[^\n]+", text)]
    if len(lines) < 2:
        return [f'"{"".join(lines)}"']
    lines = ["  " + ("\\" if line.startswith(" ") else "") + line + "\\" for line in lines]
    return ['"\\', *lines[:-1], lines[-1][:-1] + '"']


def _scalar(text: str) -> str:
    is_plain = _PLAIN.fullmatch(text) and text.isprintable() and not text.endswith((" ", ":"))
    if is_plain and not re.fullmatch(r"true|false|null|[0-9.eE+-]+", text):
        return text
    if '"' in text and "'" not in text and text.isprintable():
        return f"'{text}'"
    return _json_tag(text) or _escaped(json.dumps(text, ensure_ascii=False))


def _escaped(text: str) -> str:
    """JSON with an escape for each character that does not show; it is YAML as well."""
    return "".join(char if char.isprintable() else _escape(ord(char)) for char in text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_tag(value: object) -> str:
    written = json.dumps(value, ensure_ascii=False)
    if not re.search("[\ud800-\udfff]", written):
        return ""
    return "!json '" + json.dumps(value).replace("'", "''") + "'"
