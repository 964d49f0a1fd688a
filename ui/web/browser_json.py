"""The delta between two JSON values; it is small if the new value continues the old one, as a text or list that grew.

A page that follows a recording asks for its data again and again, which is each time a little longer. The browser names
the version that it has, and gets the delta from it. From `{"text": "Hel", "ends": [1, 2]}` to
`{"text": "Hello", "ends": [1, 2, 4, 7, 11], "done": true}` that is

    {"c": {"text": {"t": "lo"}, "ends": {"s": [2, 3, 4]}, "done": {"v": true}}}

A delta is an object in one of these forms, without its empty members; `dissector/delta.js` applies it:

* `{"v": value}`: replaces the value;
* `{"t": text}`: appends to the text;
* `{"n": length, "c": {index: delta}, "t": items}`: truncates the list to that length (without `n`, keeps its length),
  changes the items at these indexes, then appends items;
* `{"n": length, "c": {index: delta}, "s": steps}`: the same if the appended items are integers; each is written as its
  difference to the item before it, the first as the difference to the last kept item if that is an integer, else to 0;
* `{"n": length, "c": {index: delta}, "r": count, "m": {name: delta}, "a": {name: indexes}}`: the same if the appended
  items are `count` objects; for each member name, `m` has the delta from an empty list to the list of its values, and
  `a` has the indexes of the items without that member;
* `{"c": {name: delta}, "d": names}`: changes or adds the members in `c` of the object, and deletes those in `d`.
"""

from itertools import accumulate, islice
from typing import cast

from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json

_MIN_ALIKE = 3  # appended items; fewer of them are as short when written out
_SMALL = 6  # items of a value that may be as short as its delta
_MAX_CHANGED_SHARE = 0.5  # of the items of a list; if more have changed, the whole list is shorter


def json_delta(before: Json, now: Json) -> dict[str, Json]:
    """The delta that turns `before` into `now`."""
    if isinstance(before, str) and isinstance(now, str) and before and now.startswith(before):
        return {"t": now[len(before) :]}
    if isinstance(before, dict) and isinstance(now, dict):
        changed: dict[str, Json] = {
            key: _shorter(json_delta(before[key], value), value) if key in before else {"v": value}
            for key, value in now.items()
            if key not in before or not _is_same(before[key], value)
        }
        return _without_empty({"c": changed, "d": [key for key in before if key not in now]})
    if isinstance(before, list) and isinstance(now, list):
        return _list_delta(before, now)
    return {"v": now}


def _shorter(delta: dict[str, Json], value: Json) -> dict[str, Json]:
    """The delta, or the value itself if it is small and not longer than the delta."""
    is_small = isinstance(value, list | dict) and len(value) <= _SMALL
    return {"v": value} if is_small and len(write_json({"v": value})) <= len(write_json(delta)) else delta


def _list_delta(before: list[Json], now: list[Json]) -> dict[str, Json]:
    length = min(len(before), len(now))
    changed = [index for index in range(length) if not _is_same(before[index], now[index])]
    if len(changed) > max(length * _MAX_CHANGED_SHARE, 4):
        return {"v": now}
    delta: dict[str, Json] = {"c": {str(index): json_delta(before[index], now[index]) for index in changed}}
    if length < len(before):
        delta["n"] = length
    tail = now[length:]
    if len(tail) >= _MIN_ALIKE and all(type(item) is int for item in tail):
        numbers = cast("list[int]", tail)
        earlier = [_last_number(now[:length]), *numbers]
        delta["s"] = [number - before for before, number in zip(earlier, numbers, strict=False)]
    elif len(tail) >= _MIN_ALIKE and all(type(item) is dict and item for item in tail):
        delta |= _members(cast("list[dict[str, Json]]", tail))
    else:
        delta["t"] = tail
    return _without_empty(delta)


def _members(items: list[dict[str, Json]]) -> dict[str, Json]:
    """Objects as one list per member: in the rows of a table, a member differs little from one row to the next."""
    names = list(dict.fromkeys(name for item in items for name in item))
    values: dict[str, Json] = {name: json_delta([], [item[name] for item in items if name in item]) for name in names}
    absent: dict[str, list[Json]] = {
        name: [index for index, item in enumerate(items) if name not in item] for name in names
    }
    return {"r": len(items), "m": values, "a": {name: indices for name, indices in absent.items() if indices}}


def _without_empty(delta: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in delta.items() if value or name == "n"}


def _last_number(kept: list[Json]) -> int:
    last = kept[-1] if kept else 0
    return last if type(last) is int else 0


def _is_same(first: Json, second: Json) -> bool:
    """Whether both are the same JSON value; unlike `==`, it distinguishes `1`, `1.0` and `True`."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_is_same(value, second[key]) for key, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_same, first, second))
    return type(first) is type(second) and first == second


def with_delta(before: Json, delta: dict[str, Json]) -> Json:
    """Apply a delta to a value, as the browser does: `with_delta(a, json_delta(a, b))` is `b`."""
    if "v" in delta:
        return delta["v"]
    if isinstance(before, str):
        return before + cast("str", delta["t"])
    changes = cast("dict[str, dict[str, Json]]", delta.get("c", {}))
    if isinstance(before, list):
        kept = before[: cast("int", delta.get("n", len(before)))]
        for index, change in changes.items():
            kept[int(index)] = with_delta(kept[int(index)], change)
        return kept + _added(kept, delta)
    assert isinstance(before, dict)
    left = {key: value for key, value in before.items() if key not in cast("list[str]", delta.get("d", ()))}
    return left | {key: with_delta(left.get(key), change) for key, change in changes.items()}


def _added(kept: list[Json], delta: dict[str, Json]) -> list[Json]:
    """The items to append to the kept ones."""
    if "s" in delta:
        return list(islice(accumulate(cast("list[int]", delta["s"]), initial=_last_number(kept)), 1, None))
    if "r" not in delta:
        return cast("list[Json]", delta.get("t", []))
    absent = cast("dict[str, list[int]]", delta.get("a", {}))
    items: list[dict[str, Json]] = [{} for _ in range(cast("int", delta["r"]))]
    for name, change in cast("dict[str, dict[str, Json]]", delta["m"]).items():
        values = iter(cast("list[Json]", with_delta([], change)))
        for index, item in enumerate(items):
            if index not in absent.get(name, ()):
                item[name] = next(values)
    return cast("list[Json]", items)
