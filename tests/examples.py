"""How many examples a property gets in the gate where each takes long."""

from hypothesis import settings


def in_the_gate(most: int) -> settings:
    """Settings for at most so many examples where the same are made up each time; else as the profile has it."""
    profile = settings()
    return settings(max_examples=min(most, profile.max_examples) if profile.derandomize else profile.max_examples)
