"""Experiments on recorded traces: resending a turn's request, and comparing several runs of a command."""
