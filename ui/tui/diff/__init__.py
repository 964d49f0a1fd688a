"""Runs of one task side by side: where they part, step by step, and what differs in each."""
