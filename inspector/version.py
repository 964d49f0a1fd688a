"""The version of weaklink, said once."""

__version__ = "0.2.0"
