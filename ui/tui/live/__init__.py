"""A trace while it is being recorded: its stream as it grows, spans as they close, faults as they appear."""
