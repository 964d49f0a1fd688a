"""Members of JSON that anybody may have written: each value as the type that is expected, or as if it were missing."""

from inspector.json_text import Json


def word_of(value: Json) -> str:
    """A text; `""` for anything else."""
    return value if isinstance(value, str) else ""


def flag_of(value: Json) -> bool | None:
    """A truth value; None for anything else."""
    return value if isinstance(value, bool) else None


def count_of(value: Json) -> int | None:
    """An integer; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def window_of_tokens(value: Json) -> int | None:
    """How many tokens a context window holds, from 1 up to a million millions; None for anything else."""
    size = count_of(value)
    return size if size is not None and 0 < size <= 10**12 else None


def object_of(value: Json) -> dict[str, Json]:
    """An object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: Json) -> list[Json]:
    """A list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def objects_of(value: Json) -> list[dict[str, Json]]:
    """The elements of a list that are objects; none where it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
