"""Traces that are still being recorded: what of them lies in the database until they end."""
