"""Numbers, times and moments as filters write them: `>2s`, `<=4k`, `3d`, `2026-11-01T09:30`."""

import re
from datetime import UTC, datetime, timedelta

from storage.filter.failing import FilterError
from storage.filter.terms import ComparisonOperator, FilterKey, When

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
COUNTS = {"k": 1e3, "m": 1e6}
_COMPARISON = re.compile(r"[<>]=?|!?=|")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")
_LONGEST_NUMBER = 18
_AGO = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)(?P<unit>[a-z]+)(?:[ -]ago)?", re.IGNORECASE)
_DAYS_AGO = {"today": 0, "yesterday": 1}


def comparison_in(text: str) -> tuple[ComparisonOperator, str]:
    """What a value begins with, `=` where it begins with none, and the rest."""
    found = _COMPARISON.match(text)
    sign = found[0] if found else ""
    return ComparisonOperator(sign or "="), text[len(sign) :]


def number_in(text: str, position: int, units: dict[str, float]) -> float:
    """The number that a text says, in the base unit; FilterError where it says none."""
    found = _NUMBER.match(text)
    if found is None or len(found[0]) > _LONGEST_NUMBER:
        example = "2s" if units is SECONDS else "4k" if units is COUNTS else "3"
        other = f", not `{text[:40]}`" if text else ", and there is none"
        raise FilterError(f"here stands a number, like `{example}` or `>{example}`{other}", position)
    unit = text[found.end() :].strip()
    if unit and unit.lower() not in units:
        known = f"one of {', '.join(units)}" if units else "none"
        raise FilterError(f"there is no unit `{unit[:40]}`; here it is {known}", position + found.end())
    return float(found[0]) * (units[unit.lower()] if unit else 1.0)


def moment_in(key: FilterKey, text: str, position: int) -> When:
    """The moment that a text says, in UTC where it names no zone; FilterError where it says none."""
    word = text.strip().lower()
    if word in _DAYS_AGO:
        midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return When(key, (midnight - timedelta(days=_DAYS_AGO[word])).timestamp())
    ago = _AGO.fullmatch(word)
    if ago is not None:
        if ago["unit"] not in SECONDS:
            raise FilterError(
                f"there is no unit `{ago['unit'][:40]}`; here it is one of {', '.join(SECONDS)}",
                position + ago.start("unit"),
            )
        return When(key, float(ago["number"]) * SECONDS[ago["unit"]], is_ago=True)
    try:
        moment = datetime.fromisoformat(text.strip())
        return When(key, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        told = "`2026-11-01`, `2026-11-01T09:30` (UTC), `2h`, `3d`, `today` or `yesterday`"
        raise FilterError(f"here stands a moment, like {told}, not `{text[:40]}`", position) from None
