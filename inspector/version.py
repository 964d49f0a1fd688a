"""The version of weaklink."""

__version__ = "0.2.0"
