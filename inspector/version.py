"""The version of weaklink, said once."""

__version__ = "0.1.0"
