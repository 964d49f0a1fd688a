"""The building blocks of a custom format: see `weaklink.register_format`."""

from weaklink.inspector.formats.dialect import Enclosed
from weaklink.inspector.formats.format import DetectionPatterns, Format
from weaklink.inspector.formats.json.call_shape import call_object
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.json.format import json_format

__all__ = ["DetectionPatterns", "Enclosed", "Format", "JsonCallReader", "call_object", "json_format"]
