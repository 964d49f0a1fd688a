"""Filters put together by clicks: each is text in the filter language, so that it can be read, changed and linked."""

import re
from datetime import date, timedelta

_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)


def field(key: str, value: str) -> str:
    """`key:value`, quoted where the value needs it."""
    if _PLAIN.fullmatch(value):
        return f"{key}:{value}"
    said = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{key}:"{said}"'


def on_day(day: str) -> str:
    """The traces of one day in UTC (`2026-11-21`); those without a date stand at the day of their import."""
    return f"since:{day} before:{(date.fromisoformat(day) + timedelta(days=1)).isoformat()}"


def narrowed(wanted: str, *terms: str) -> str:
    """A filter with further terms that must hold too; those that it says already are not said twice."""
    further = " ".join(term for term in terms if term and f" {term} " not in f" {wanted} ")
    if not wanted.strip() or not further:
        return wanted.strip() or further
    return f"({wanted.strip()}) {further}" if _CHOICE.search(wanted) else f"{wanted.strip()} {further}"
