"""The difference of two JSON values, small where the later one continues the earlier: a text or a list that grew.

A delta is an object with one of these forms; `dissector/delta.js` applies it:

* `{"v": value}`: the value is now this one;
* `{"t": text}`: the text, continued by this one;
* `{"n": length, "c": {index: delta}, "t": items}`: the list cut to that length, with these items changed, then these
  items behind it;
* `{"n": length, "c": {index: delta}, "s": steps}`: the same where the items behind are integers; each is written as its
  difference to the one before it, the first as that to the last item kept where that is an integer, else to 0;
* `{"c": {name: delta}, "d": names}`: the object with these members changed or new, and without those.
"""

from itertools import accumulate, islice
from typing import cast

from inspector.model import Json

_LEAST_STEPS = 3  # numbers behind a list; fewer of them are as short written out
_MOST_CHANGED = 0.5  # of the items of a list; with more of them the whole list is shorter


def json_delta(before: Json, now: Json) -> dict[str, Json]:
    """What makes `now` of `before`."""
    if isinstance(before, str) and isinstance(now, str) and before and now.startswith(before):
        return {"t": now[len(before) :]}
    if isinstance(before, dict) and isinstance(now, dict):
        changed: dict[str, Json] = {
            key: json_delta(before[key], value) if key in before else {"v": value}
            for key, value in now.items()
            if key not in before or not _is_same(before[key], value)
        }
        return {"c": changed, "d": [key for key in before if key not in now]}
    if isinstance(before, list) and isinstance(now, list):
        return _list_delta(before, now)
    return {"v": now}


def _list_delta(before: list[Json], now: list[Json]) -> dict[str, Json]:
    length = min(len(before), len(now))
    changed = [index for index in range(length) if not _is_same(before[index], now[index])]
    if len(changed) > max(length * _MOST_CHANGED, 4):
        return {"v": now}
    deltas: dict[str, Json] = {str(index): json_delta(before[index], now[index]) for index in changed}
    tail = now[length:]
    numbers = [one for one in tail if type(one) is int]
    if len(numbers) < _LEAST_STEPS or len(numbers) < len(tail):
        return {"n": length, "c": deltas, "t": tail}
    earlier = [_last_number(now[:length]), *numbers]
    return {"n": length, "c": deltas, "s": [one - before for before, one in zip(earlier, numbers, strict=False)]}


def _last_number(kept: list[Json]) -> int:
    last = kept[-1] if kept else 0
    return last if type(last) is int else 0


def _is_same(one: Json, other: Json) -> bool:
    """Whether both are written alike: `1`, `1.0` and `true` are equal, and are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return type(one) is type(other) and one == other


def with_delta(before: Json, delta: dict[str, Json]) -> Json:
    """What the browser makes of a value and a delta of it: `with_delta(a, json_delta(a, b))` is `b`."""
    if "v" in delta:
        return delta["v"]
    if isinstance(before, str):
        return before + cast("str", delta["t"])
    changes = cast("dict[str, dict[str, Json]]", delta["c"])
    if isinstance(before, list):
        kept = before[: cast("int", delta["n"])]
        for index, change in changes.items():
            kept[int(index)] = with_delta(kept[int(index)], change)
        if "s" in delta:
            return [*kept, *islice(accumulate(cast("list[int]", delta["s"]), initial=_last_number(kept)), 1, None)]
        return kept + cast("list[Json]", delta["t"])
    assert isinstance(before, dict)
    left = {key: value for key, value in before.items() if key not in cast("list[str]", delta["d"])}
    return left | {key: with_delta(left.get(key), change) for key, change in changes.items()}
