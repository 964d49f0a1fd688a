"""Calls whose parameters are written in tags: their syntax, how they are read, and formats made from it."""
