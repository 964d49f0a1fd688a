"""What describes a format of one's own: see `weaklink.register_format`."""

from weaklink.own_packages import require_own

require_own("inspector")

from inspector.formats.dialect import Enclosed  # noqa: E402  # another package may have the name `inspector`
from inspector.formats.format import Format, Signs  # noqa: E402
from inspector.formats.json_call import JsonCallReader  # noqa: E402
from inspector.formats.json_dialects import JsonMarkers, json_format  # noqa: E402
from inspector.formats.writing import call_object  # noqa: E402

__all__ = ["Enclosed", "Format", "JsonCallReader", "JsonMarkers", "Signs", "call_object", "json_format"]
