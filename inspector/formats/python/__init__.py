"""Calls in Python's syntax, `[f(a=1, b='x'), g()]`: tracks them, reads them with positions and faults, writes them."""
