"""Calls in Gemma's own notation: tracks them in a stream, reads and writes them."""
