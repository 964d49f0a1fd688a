"""The steps of a trace: which result answers which call, what became of it, and where it broke."""
