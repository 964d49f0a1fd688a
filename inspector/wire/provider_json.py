"""JSON of providers: parsed even if the fast reader refuses it, written compactly, and read into typed structures.

A typed structure is read at once if it fits, else member by member; the members that do not fit are named.
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Generic, TypeVar, get_args

import msgspec

from weaklink.inspector.json_scanner import JsonKind, JsonNode, read_json
from weaklink.inspector.memory import SMALL_JSON, check_json
from weaklink.inspector.model import Json

_NULL = b"null"
_EMPTY = frozenset({_NULL, b'""', b"[]", b"{}"})
NOTHING = msgspec.Raw(b"")
"""The default of a member whose exact JSON text is kept."""

_Shape = TypeVar("_Shape", bound=msgspec.Struct)


def raw_text(raw: msgspec.Raw) -> str:
    """The JSON text of a member exactly as it was on the wire; `""` if it is missing or null."""
    text = _text(raw)
    return "" if text == "null" else text


class StructReader(Generic[_Shape]):
    """Reads JSON texts as `shape`, a structure whose members all have defaults.

    A call with a text returns the structure and the paths of what did not fit: members of another type, which are left
    out, and members that are not empty and that a structure with `forbid_unknown_fields` does not name. A member of
    type `msgspec.Raw` keeps its exact text. `rename` maps an unknown key to the name of a member. ValueError for a text
    that is no JSON object. Linear in the text.

    A text that fits is decoded at once. Any other is taken apart level by level into the JSON texts of its members,
    `{"a": {"b": 1}}` into `{"a": '{"b": 1}'}`, and each is decoded as its type, or taken apart in its turn.
    """

    def __init__(self, shape: type[_Shape], *, rename: Callable[[str], str] = str) -> None:
        self._shape = shape
        self._rename = rename
        self.decode = msgspec.json.Decoder(shape).decode
        """Reads a text that fits; ValueError or RecursionError for any other."""

    def __call__(self, text: str) -> tuple[_Shape, list[str]]:
        """The structure, and the paths of what did not fit."""
        try:
            return self.decode(text), []
        except (ValueError, RecursionError):
            return self.read_members(text)

    def read_members(self, text: str) -> tuple[_Shape, list[str]]:
        """The same for a text that does not fit."""
        members = _members(text.encode("utf-8", "surrogatepass"))
        if members is None:
            raise ValueError("not a JSON object")
        reader = _MemberReader(self._rename)
        shape: _Shape = reader.struct(self._shape, members, "")
        return shape, reader.strange


class _MemberReader:
    def __init__(self, rename: Callable[[str], str]) -> None:
        self._rename = rename
        self.strange: list[str] = []

    def struct(self, shape: Any, members: dict[str, msgspec.Raw] | None, path: str) -> Any:
        if members is None:
            self.strange.append(path)
            return shape()
        fields = _fields(shape)
        known: dict[str, Any] = {}
        for key, raw in members.items():
            field = fields.get(key) or fields.get(key := self._rename(key))
            if field is not None:
                self._read(known, field, raw, f"{path}.{key}" if path else key)
            elif shape.__struct_config__.forbid_unknown_fields and not _is_empty(bytes(raw)):
                self.strange.append(f"{path}.{key}" if path else key)
        return shape(**known)

    def _read(self, known: dict[str, Any], field: "_Field", raw: msgspec.Raw, path: str) -> None:
        if field.type is msgspec.Raw:
            known[field.name] = raw
        elif field.item is not None and (elements := _elements(raw)) is not None:
            known[field.name] = elements if field.item is msgspec.Raw else self._structs(field.item, elements, path)
        elif field.inner is not None:
            if bytes(raw) != _NULL:
                known[field.name] = self.struct(field.inner, _members(raw), path)
        else:
            try:
                known[field.name] = _value(raw, field)
            except (ValueError, RecursionError):
                if bytes(raw) != _NULL:
                    self.strange.append(path)

    def _structs(self, shape: Any, elements: list[msgspec.Raw], path: str) -> list[Any]:
        return [self.struct(shape, _members(raw), f"{path}[{index}]") for index, raw in enumerate(elements)]


class _Field(msgspec.Struct, frozen=True):
    """A member of a structure: its attribute, its type, and the structure that it is or that it is a list of."""

    name: str
    type: Any
    decode: Callable[[msgspec.Raw], Any]
    inner: Any
    item: Any


@cache
def _fields(shape: type[msgspec.Struct]) -> dict[str, _Field]:
    return {
        field.encode_name: _Field(
            field.name,
            field.type,
            msgspec.json.Decoder(field.type).decode,
            _inner_shape(field.type),
            _item_shape(field.type),
        )
        for field in msgspec.structs.fields(shape)
    }


def _inner_shape(type_: Any) -> type[Any] | None:
    """The structure that a type is, or may be; None if it is none."""
    for member_type in (type_, *get_args(type_)):
        if isinstance(member_type, type) and issubclass(member_type, msgspec.Struct):
            return member_type
    return None


def _item_shape(type_: Any) -> type[Any] | None:
    """The structure, or raw text, that a type is a list of; None if it is no such list."""
    for member_type in (type_, *get_args(type_)):
        if getattr(member_type, "__origin__", None) is list:
            item = get_args(member_type)[0]
            if isinstance(item, type) and issubclass(item, msgspec.Struct | msgspec.Raw):
                return item
    return None


_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


def _members(raw: msgspec.Raw | bytes) -> dict[str, msgspec.Raw] | None:
    """The JSON texts of an object's members; None if it is another value. ValueError for a text that is no JSON."""
    try:
        return _decode_members(raw)
    except msgspec.ValidationError:
        return None
    except (ValueError, RecursionError):  # no JSON, or what only the exact reader accepts: half a surrogate pair
        text = _text(raw)
    if not isinstance(parse_json(text), dict):
        return None
    return {member.key: _raw(text, member.value) for member in read_json(text).nodes[0].members}


def _elements(raw: msgspec.Raw) -> list[msgspec.Raw] | None:
    """The JSON texts of a list's elements; None if it is another value."""
    try:
        return _decode_elements(raw)
    except msgspec.ValidationError:
        return None
    except (ValueError, RecursionError):
        text = _text(raw)
    node = read_json(text).nodes[0]
    return [_raw(text, item) for item in node.items] if node.kind is JsonKind.ARRAY else None


def _value(raw: msgspec.Raw, field: _Field) -> Any:
    try:
        return field.decode(raw)
    except msgspec.ValidationError:
        raise
    except ValueError:
        return msgspec.convert(parse_json(_text(raw)), field.type)


def _text(raw: msgspec.Raw | bytes) -> str:
    return bytes(raw).decode("utf-8", "surrogatepass")


def _raw(text: str, node: JsonNode) -> msgspec.Raw:
    return msgspec.Raw(node.range.of(text).encode("utf-8", "surrogatepass"))


def _is_empty(raw: bytes) -> bool:
    return raw in _EMPTY or (raw[:1] in b"[{" and not raw[1:-1].strip())


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
