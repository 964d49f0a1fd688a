"""Calls in Gemma's own notation: how they are followed in a stream, read and written."""
