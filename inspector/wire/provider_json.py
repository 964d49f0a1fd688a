"""JSON of providers: parsed even if the fast reader refuses it, written compactly, and read into typed structures.

A typed structure is read at once if it fits, else member by member; the members that do not fit are named.
"""

import json
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, Generic, TypeVar, get_args

import msgspec

from weaklink.inspector.json_scanner import JsonKind, JsonNode, read_json
from weaklink.inspector.memory import SMALL_JSON, check_json
from weaklink.inspector.model import Json

_EMPTY: tuple[Any, ...] = (None, "", [], {})
NOTHING = msgspec.Raw(b"")
"""The default of a member whose exact JSON text is kept."""

_Shape = TypeVar("_Shape", bound=msgspec.Struct)


def raw_text(raw: msgspec.Raw) -> str:
    """The JSON text of a member exactly as it was on the wire; `""` if it is missing or null."""
    text = bytes(raw).decode("utf-8", "surrogatepass")
    return "" if text == "null" else text


class StructReader(Generic[_Shape]):
    """Reads JSON texts as `shape`, a structure whose members all have defaults.

    A call with a text returns the structure and the paths of what did not fit: members of another type, which are left
    out, and members that are not empty and that a structure with `forbid_unknown_fields` does not name. A member of
    type `msgspec.Raw` keeps its exact text. `rename` maps an unknown key to the name of a member. ValueError for a text
    that is no JSON object. Linear in the text.
    """

    def __init__(self, shape: type[_Shape], *, rename: Callable[[str], str] = str) -> None:
        self._shape = shape
        self._decode = msgspec.json.Decoder(shape).decode
        self._rename = rename

    def __call__(self, text: str) -> tuple[_Shape, list[str]]:
        """The structure, and the paths of what did not fit."""
        try:
            return self._decode(text), []
        except (ValueError, RecursionError):
            if not isinstance(parse_json(text), dict):
                raise ValueError("not a JSON object") from None
        reading = _MemberReader(text, self._rename)
        shape: _Shape = reading.struct(self._shape, read_json(text).nodes[0], "")
        return shape, reading.strange


class _MemberReader:
    def __init__(self, text: str, rename: Callable[[str], str]) -> None:
        self._text = text
        self._rename = rename
        self.strange: list[str] = []

    def struct(self, shape: Any, node: JsonNode, path: str) -> Any:
        if node.kind is not JsonKind.OBJECT:
            self.strange.append(path)
            return shape()
        fields = _fields(shape)
        known: dict[str, Any] = {}
        for member in node.members:
            key = member.key if member.key in fields else self._rename(member.key)
            where = f"{path}.{key}" if path else key
            if key in fields:
                name, type_ = fields[key]
                self._take(known, name, type_, member.value, where)
            elif shape.__struct_config__.forbid_unknown_fields and member.value.value() not in _EMPTY:
                self.strange.append(where)
        return shape(**known)

    def _take(self, known: dict[str, Any], name: str, type_: Any, node: JsonNode, path: str) -> None:
        inner, item = _inner_shape(type_), _item_shape(type_)
        if type_ is msgspec.Raw:
            known[name] = self._raw(node)
        elif node.kind is JsonKind.NULL:
            return
        elif item is not None and node.kind is JsonKind.ARRAY:
            known[name] = [
                self._raw(one) if item is msgspec.Raw else self.struct(item, one, f"{path}[{index}]")
                for index, one in enumerate(node.items)
            ]
        elif inner is not None:
            known[name] = self.struct(inner, node, path)
        else:
            try:
                known[name] = msgspec.convert(node.value(), type_)
            except (ValueError, RecursionError):
                self.strange.append(path)

    def _raw(self, node: JsonNode) -> msgspec.Raw:
        return msgspec.Raw(node.range.of(self._text).encode("utf-8", "surrogatepass"))


@cache
def _fields(shape: type[msgspec.Struct]) -> dict[str, tuple[str, Any]]:
    return {field.encode_name: (field.name, field.type) for field in msgspec.structs.fields(shape)}


@cache
def _inner_shape(type_: Hashable) -> type[Any] | None:
    """The structure that a type is, or may be; None if it is none."""
    for one in (type_, *get_args(type_)):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            return one
    return None


@cache
def _item_shape(type_: Hashable) -> type[Any] | None:
    """The structure, or raw text, that a type is a list of; None if it is no such list."""
    for one in (type_, *get_args(type_)):
        if getattr(one, "__origin__", None) is list:
            item = get_args(one)[0]
            if isinstance(item, type) and issubclass(item, msgspec.Struct | msgspec.Raw):
                return item
    return None


def is_json(text: str) -> bool:
    """Whether `parse_json` can read a text."""
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def parse_json(text: str) -> Json:
    """Any JSON value, lone surrogates and non-finite numbers included.

    ValueError for a text that is no JSON, or that Python cannot read: nested deeper than its recursion limit, an
    integer of more than 4,300 digits, or more memory than `RECORD_MEMORY`.
    """
    if len(text) > SMALL_JSON:
        check_json(text.encode("utf-8", "surrogatepass"))
    try:
        value: Json = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value


def try_parse_json(text: str, default: Json = None) -> Json:
    """The value of a JSON text, as `parse_json` reads it; `default` for a text that is none."""
    try:
        return parse_json(text)
    except ValueError:
        return default
