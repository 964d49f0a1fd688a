"""How much work something is, by a measure that no other program on the machine changes."""

import gc
from collections.abc import Callable
from cProfile import Profile


def functions_run(do: Callable[[], object]) -> int:
    """How many functions run while `do` runs: Python's own and those in C."""
    profile = Profile()
    gc.collect()
    gc.disable()  # it calls what objects of other tests left to be called
    try:
        profile.runcall(do)
    finally:
        gc.enable()
    return sum(entry.callcount for entry in profile.getstats())
