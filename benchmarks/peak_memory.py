"""The most memory that this process has had."""

import re
import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


def peak_kib() -> int:
    """The most memory that this process has had at once, in KiB, since its program began.

    On Linux `ru_maxrss` also counts what the process that started this one had, so the kernel's own mark is read.
    """
    if _STATUS.exists():
        found = _PEAK.search(_STATUS.read_text(encoding="ascii"))
        if found is not None:
            return int(found[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak  # macOS counts bytes
