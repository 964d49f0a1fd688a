"""Points in time as users write them: a date, a date with a time, or an age."""

import re
from datetime import UTC, datetime, timedelta

import click

_AGE = re.compile(r"(\d{1,9})\s*(h|d|w|y)", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 168, "y": 8766}


class Moment(click.ParamType[datetime]):
    """`2026-01-31`, `2026-01-31T18:00` (UTC, or with an offset of its own) or an age: `12h`, `30d`, `8w`, `1y`."""

    name = "date or age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The moment, with its zone; fails as click's own types do."""
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        try:
            if age := _AGE.fullmatch(text):
                return datetime.now(UTC) - timedelta(hours=int(age[1]) * _HOURS[age[2].lower()])
            moment = datetime.fromisoformat(text)
        except (ValueError, OverflowError):
            self.fail(f"`{text}` is neither a date (2026-01-31, in UTC) nor an age (12h, 30d, 8w, 1y).", param, ctx)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
