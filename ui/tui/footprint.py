"""Keeps the process of the terminal debugger small and its keys quick, however much it reads and lets go of."""

import ctypes
import gc
import sys

_MMAP_THRESHOLD = -3  # glibc's malloc.h
_LARGE = 1 << 20


def settle() -> None:
    """To be called once, when everything is imported and nothing has been read yet.

    Blocks of a megabyte go back to the system as soon as they are free: glibc would keep those that were let go of
    for later, and copy a text that grows from place to place. The collector no longer looks through what was imported,
    which took it 100 ms now and then, in the middle of a key.
    """
    gc.collect()
    gc.freeze()
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, _LARGE)
