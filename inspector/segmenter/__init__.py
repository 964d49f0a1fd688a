"""Splits one part's text into spans and events, without I/O."""
