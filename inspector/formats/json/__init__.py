"""Calls that are written as JSON: what a payload may look like, how it is read, and formats made from it."""
