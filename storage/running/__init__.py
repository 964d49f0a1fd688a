"""Traces that are still being recorded, and their rows in the database until they end."""
