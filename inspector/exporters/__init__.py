"""Exports traces and their diagnostics for other tools."""

from weaklink.inspector.exporters.openai_messages import MessagesRow, messages_row
from weaklink.inspector.exporters.otlp import otlp_request
from weaklink.inspector.otlp_protobuf import otlp_protobuf

__all__ = ["MessagesRow", "messages_row", "otlp_protobuf", "otlp_request"]
