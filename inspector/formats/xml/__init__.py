"""Calls whose parameters are written in tags: the syntax, its readers, and the formats built on it."""
