"""Reads an agent's token stream: spans, calls, faults and the chain they form."""
