"""Finds claims of an answer that have no evidence: a number that no text contains, or an action that no call did."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from weaklink.inspector.dataset.context_values import ContextValues, FoldedText, fold_text
from weaklink.inspector.model import Json
from weaklink.inspector.scanning import lazy_pattern

_NUMBER = lazy_pattern(r"(?<![\w.#/-])[-−]?\d+(?:[,_\u202f']\d{3}(?!\d))*(?:\.\d+)?(?![\w/-])")
_LIST_ITEM = lazy_pattern(r"^\s*(?:[-*+]\s*)?\d{1,3}[.)]\s", re.MULTILINE)
_CODE = lazy_pattern(r"```.*?(?:```|$)", re.DOTALL)
_ACTION = lazy_pattern(
    r"""
    \b
    (?: I(?:['’]m|[ ]am)[ ]now[ ]                                       # I am now sending
        (?: playing|sending|booking|ordering|calling|dialing|deleting|transferring|turning ) \b
      | (?: I(?:['’]ve|[ ]have)? (?: [ ](?:just|now|already|successfully) )?    # I have just
          | (?:has|have)[ ]been (?:[ ]successfully)?                            # has been
          | (?:is|are)[ ]now ) [ ]                                              # is now
        (?P<verb> sent|e-?mailed|booked|reserved|scheduled|created|added|deleted|removed|cancell?ed
                | updated|ordered|purchased|paid|transferred|refunded|uploaded|posted|submitted|saved|set[ ]up
                | turned[ ]o(?:n|ff)|moved|renamed|notified|shared|published|deployed|installed|restarted|converted
                | translated[ ]into[ ]the[ ]file ) \b )
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""An answer that says it acted: `I have booked`, `has been sent`, `I am now calling`."""
_ANNOUNCEMENT = lazy_pattern(
    r"""
    \b
    (?: let[ ]me | I(?:['’]ll|[ ]will)(?:[ ]now|[ ]just)? | I(?:['’]m|[ ]am)(?:[ ]now)?[ ]going[ ]to ) [ ]
    (?: now[ ] | just[ ] | quickly[ ] | first[ ] )?
    (?: check | look[ ](?:that|it|this|them)?[ ]?up | search|find|calculate|compute|fetch|get|retrieve|query|book|send
      | convert|translate|run|call|use|pull[ ]up|track|schedule|create|add|turn|play|set ) \b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""An answer that says it will act: `let me check`, `I'll now look it up`, `I am going to send`."""
_CONDITION = lazy_pattern(
    r"\b(?:once|if|when|after|until|unless|as soon as|first need|please|could you|can you|let me know|unable|cannot|"
    r"can['’]t|don['’]t|without|sorry)\b",
    re.IGNORECASE,
)
"""Words with which an announcement only offers, asks or refuses: `once`, `please`, `let me know`, `cannot`."""
_MAX_VALUES = 60
_MAX_NUMBERS = 200

SchemaPath: TypeAlias = tuple[str | int, ...]
_COMPOSED = ("allOf", "anyOf", "oneOf")
_CONDITIONAL = ("if", "then", "else")
_NAMES_KEYS = frozenset({"properties", "patternProperties", "required", "additionalProperties", "type"})
_MAX_DEPTH = 64
_MAX_SCHEMAS = 256
_PLAIN_PATTERN = lazy_pattern(r"\^?[\w\-:. ]*(?:\.\*)?\$?")


class Claim(Struct, frozen=True):
    """A claim of an answer: its exact text, and what kind of claim it is, for a message."""

    text: str
    what: str


def unsupported_claim(answer: str, context: ContextValues, made: Iterable[str], *, has_acted: bool) -> Claim | None:
    """The first claim of an answer without evidence, or None.

    A number of one digit is not a claim. Evidence is any number in the context or in `made`, the arguments of the calls
    made: also rounded, scaled by a power of ten, or as a percentage, and counts, and sums, differences, products and
    quotients of two such numbers. An action that the agent claims requires a call that succeeded (`has_acted`).
    """
    action = claimed_action(answer)
    if action is not None and not has_acted:
        return Claim(action, "a claimed action")
    words = _CODE.sub(" ", answer)
    texts = (*context.texts, *map(fold_text, made))
    known: frozenset[float] | None = None
    derived: frozenset[float] | None = None
    for claimed in islice(_numbers(words), _MAX_NUMBERS):
        if _is_in_words(claimed, texts):
            continue
        known = frozenset(number for text in texts for number in text.numbers) if known is None else known
        value = float(claimed.replace("−", "-").translate(_SEPARATORS))
        digits = len(claimed.partition(".")[2])
        if _is_known(value, digits, known):
            continue
        derived = _derived(known, texts) if derived is None else derived
        if not _is_known(value, digits, derived):
            return Claim(claimed, "a value that must be looked up")
    return None


def announced_action(answer: str) -> str | None:
    """The words by which an answer announces something that it then does not do; None if it asks or offers first."""
    words = _CODE.sub(" ", answer)
    match = _ANNOUNCEMENT.search(words) if "?" not in words else None
    return match[0] if match is not None and not _CONDITION.search(words) else None


def claimed_action(answer: str) -> str | None:
    """The words by which an answer claims that the agent did something; None if it does not."""
    match = _ACTION.search(_CODE.sub(" ", answer))
    return match[0] if match is not None else None


_SEPARATORS = str.maketrans("", "", ",_\u202f'")


def _numbers(words: str) -> Iterator[str]:
    items = {match.start() for match in _LIST_ITEM.finditer(words)}
    for match in _NUMBER.finditer(words):
        number = match[0]
        line = words.rfind("\n", 0, match.start()) + 1
        is_item = line in items and not words[line : match.start()].strip(" \t-*+")
        if not is_item and len(number.strip("-−")) > 1:
            yield number


def _is_known(value: float, digits: int, known: frozenset[float]) -> bool:
    if value in known or -value in known:
        return True
    unit = 10.0**-digits
    if any(abs(number - value) <= unit / 2 * (1 + 1e-9) for number in known):
        return True
    if value == 0 or digits:
        return any(abs(number * 100 - value) <= unit / 2 or abs(number / 100 - value) <= unit / 2 for number in known)
    rounded = next(10.0**power for power in range(16, -1, -1) if value % 10.0**power == 0)
    return any(
        abs(number * scale - value) <= rounded / 2 * (rounded > 1) or abs(number * scale - value) <= 0.5
        for number in known
        for scale in (1, 100)
    )


def _is_in_words(number: str, texts: Sequence[FoldedText]) -> bool:
    """Whether the digits are a separate word in a text, as in an id or a date."""
    plain = number.strip("-−")
    return any(plain in text.words for text in texts)


def _derived(known: frozenset[float], texts: Sequence[FoldedText]) -> frozenset[float]:
    """The values that can be computed from the numbers: from pairs, from all of them, and counts."""
    values = sorted(known, key=abs, reverse=True)[:_MAX_VALUES]
    derived = {float(count) for count in range(len(values) + 1)}
    derived.add(sum(values))
    if values:
        derived.add(sum(values) / len(values))
    for first, other in combinations(values, 2):
        derived.update((first + other, first - other, other - first, first * other))
        if other:
            derived.add(first / other)
            derived.add((first - other) / other * 100)
        if first:
            derived.add(other / first)
    derived.update(float(text.line.count(" ")) for text in texts)
    return frozenset(derived)


class InventedKey(Struct, frozen=True):
    """A key that no part of the schema names: its path, and the keys that the schema names there."""

    path: SchemaPath
    known: tuple[str, ...]


def invented_keys(value: Json, schema: Json) -> Iterator[InventedKey]:
    """The keys of `value`, at any depth, that `schema` does not name.

    A key is allowed if `additionalProperties` or `unevaluatedProperties` is true or a schema, or if a pattern of
    `patternProperties` matches it. A schema without any constraint (`true`, `{}`) allows everything below it. All
    branches of `anyOf`, `oneOf` and `if` name keys. Bounded: 64 levels, 256 subschemas for one value.
    """
    yield from _of(value, _Schemas(schema).expanded([schema]), _Schemas(schema), (), 0)


def _of(
    value: Json, applicable: list[Json], schemas: "_Schemas", path: SchemaPath, depth: int
) -> Iterator[InventedKey]:
    if depth > _MAX_DEPTH or any(schema is True or schema == {} for schema in applicable) or not applicable:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            below = [inner for schema in applicable for inner in _item_schemas(schema, index)]
            yield from _of(item, schemas.expanded(below), schemas, (*path, index), depth + 1)
    elif isinstance(value, dict) and any(_describes_object(schema) for schema in applicable):
        known = tuple(dict.fromkeys(name for schema in applicable for name in _properties(schema, "properties")))
        for key, member in value.items():
            below = [inner for schema in applicable for inner in _member_schemas(schema, key)]
            if below:
                yield from _of(member, schemas.expanded(below), schemas, (*path, key), depth + 1)
            else:
                yield InventedKey((*path, key), known)


class _Schemas:
    """One schema document, whose local references can be followed."""

    def __init__(self, root: Json) -> None:
        self._root = root

    def expanded(self, schemas: Sequence[Json]) -> list[Json]:
        """The schemas and all schemas that they refer to or are composed of, each once."""
        applicable: list[Json] = []
        seen: set[int] = set()
        left = list(schemas)
        while left and len(applicable) < _MAX_SCHEMAS:
            schema = left.pop()
            if id(schema) in seen and isinstance(schema, dict):
                continue
            seen.add(id(schema))
            applicable.append(schema)
            if isinstance(schema, dict):
                left += self._composing(schema)
        return applicable

    def _composing(self, schema: dict[str, Json]) -> Iterator[Json]:
        reference = schema.get("$ref", schema.get("$dynamicRef"))
        if isinstance(reference, str):
            yield from self._target(reference)
        for key in _COMPOSED:
            branches = schema.get(key)
            yield from branches if isinstance(branches, list) else ()
        yield from (schema[key] for key in _CONDITIONAL if key in schema)
        dependent = schema.get("dependentSchemas")
        yield from dependent.values() if isinstance(dependent, dict) else ()

    def _target(self, reference: str) -> Iterator[Json]:
        if not reference.startswith("#"):
            return
        node: Json = self._root
        pointer = reference[1:]
        if pointer and not pointer.startswith("/"):
            yield from self._anchored(pointer)
            return
        for step in pointer.split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and name in node:
                node = node[name]
            elif isinstance(node, list) and name.isdigit() and int(name) < len(node):
                node = node[int(name)]
            else:
                return
        yield node

    def _anchored(self, name: str) -> Iterator[Json]:
        for holder in ("$defs", "definitions"):
            for property_ in _properties(self._root, holder).values():
                if isinstance(property_, dict) and name in (property_.get("$anchor"), property_.get("$dynamicAnchor")):
                    yield property_


def _describes_object(schema: Json) -> bool:
    return isinstance(schema, dict) and not _NAMES_KEYS.isdisjoint(schema)


def _properties(schema: Json, key: str) -> dict[str, Json]:
    properties = schema.get(key) if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _member_schemas(schema: Json, key: str) -> Iterator[Json]:
    """The subschemas that allow a member of this name."""
    named = _properties(schema, "properties")
    if key in named:
        yield named[key]
    for pattern, below in _properties(schema, "patternProperties").items():
        if _matches(pattern, key):
            yield below
    for rest in ("additionalProperties", "unevaluatedProperties"):
        allowed = schema.get(rest) if isinstance(schema, dict) else None
        if allowed is True or isinstance(allowed, dict):
            yield allowed


def _matches(pattern: str, key: str) -> bool:
    """Whether a key matches a pattern of the schema.

    Only plain patterns run here, which cannot backtrack; any other pattern counts as a match. The schema's validator
    decides on those, and has already refused a key that matches none if `additionalProperties` is false.
    """
    return re.search(pattern, key) is not None if _PLAIN_PATTERN.fullmatch(pattern) else True


def _item_schemas(schema: Json, index: int) -> Iterator[Json]:
    if not isinstance(schema, dict):
        return
    first = schema.get("prefixItems", schema.get("items"))
    if isinstance(first, list):
        if index < len(first):
            yield first[index]
            return
        rest = (
            schema.get("items", schema.get("additionalItems"))
            if "prefixItems" in schema
            else schema.get("additionalItems")
        )
        if rest is not None and not isinstance(rest, list):
            yield rest
        return
    if first is not None:
        yield first
