"""How many examples a property gets in the gate where that is not what others get."""

from hypothesis import settings


def in_the_gate(examples: int) -> settings:
    """Settings for so many examples where the same are made up each time; else as the profile has it."""
    profile = settings()
    return settings(max_examples=examples if profile.derandomize else profile.max_examples)
