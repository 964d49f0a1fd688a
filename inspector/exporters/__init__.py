"""Exports traces and their diagnostics for other tools."""

from inspector.exporters.openai_messages import MessagesRow, messages_row
from inspector.exporters.otlp import otlp_request

__all__ = ["MessagesRow", "messages_row", "otlp_request"]
