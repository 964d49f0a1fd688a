"""Spans of tracing stores: OpenTelemetry, Langfuse, LangSmith and Phoenix."""
