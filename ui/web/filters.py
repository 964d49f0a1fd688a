"""Filters put together by clicks: each is text in the filter language, so that it can be read, changed and linked."""

import re

_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")


def field(key: str, value: str) -> str:
    """`key:value`, quoted where the value needs it."""
    if _PLAIN.fullmatch(value):
        return f"{key}:{value}"
    said = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{key}:"{said}"'


def narrowed(wanted: str, *terms: str) -> str:
    """A filter with further terms that must hold too; those that it ends with already are not said twice."""
    further = " ".join(term for term in terms if term and term not in wanted.split())
    if not wanted.strip() or not further:
        return wanted.strip() or further
    is_choice = re.search(r"\bor\b", wanted) is not None
    return f"({wanted.strip()}) {further}" if is_choice else f"{wanted.strip()} {further}"
