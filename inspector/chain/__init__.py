"""The steps of a trace: which result answers which call, the outcome of each call, and where the chain broke."""
