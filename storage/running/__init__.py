"""Traces that are still being recorded: what of them is in the database until they end."""
