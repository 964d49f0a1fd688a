"""Traces, kept: the inspector's values in SQLite or PostgreSQL."""
