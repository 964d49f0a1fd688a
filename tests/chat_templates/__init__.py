"""Chains built line by line, and what the analysis says of them."""
