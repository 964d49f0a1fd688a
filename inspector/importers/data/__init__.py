"""Data sets, plain texts and weaklink's own trace files."""
