"""The JSON Schema of weaklink.toml: the settings of `check`, formats and prices."""

from typing import Any

import msgspec

from weaklink.ui.cli.check_settings import settings_schema
from weaklink.ui.web.prices import ModelPrice


def configuration_schema() -> dict[str, Any]:
    """The schema; the same holds for the table `tool.weaklink` of pyproject.toml, but for formats and prices."""
    settings = settings_schema()
    price = msgspec.json.schema(ModelPrice)["$defs"]["ModelPrice"]
    tables = {
        "check": settings,
        "formats": {"type": "object", "additionalProperties": {"type": "string", "pattern": r"\.toml$"}},
        "prices": {"type": "object", "additionalProperties": price},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "weaklink.toml",
        **settings,
        "properties": {**settings["properties"], **tables},
    }
