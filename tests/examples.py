"""How many examples a property gets where that is not the number of the profile."""

from hypothesis import settings


def in_the_gate(examples: int, *, most: int | None = None) -> settings:
    """Settings for this many examples in the gate, elsewhere for those of the profile, but at most `most`."""
    profile = settings()
    if profile.derandomize:
        return settings(max_examples=examples)
    return settings(max_examples=min(profile.max_examples, most or profile.max_examples))
