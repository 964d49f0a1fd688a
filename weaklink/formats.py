"""The building blocks of a custom format: see `weaklink.register_format`."""

from weaklink.own_packages import require_own

require_own("inspector")

from weaklink.inspector.formats.dialect import Enclosed  # noqa: E402  # another package may have the name `inspector`
from weaklink.inspector.formats.format import DetectionPatterns, Format  # noqa: E402
from weaklink.inspector.formats.json.call_shape import call_object  # noqa: E402
from weaklink.inspector.formats.json.calls import JsonCallReader  # noqa: E402
from weaklink.inspector.formats.json.format import JsonMarkers, json_format  # noqa: E402

__all__ = ["DetectionPatterns", "Enclosed", "Format", "JsonCallReader", "JsonMarkers", "call_object", "json_format"]
