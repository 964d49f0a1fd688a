"""Experiments on recorded traces: a turn asked again, and a command run several times."""
