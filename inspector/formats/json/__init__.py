"""Calls that are written as JSON: the payloads, their readers, and the formats built on them."""
