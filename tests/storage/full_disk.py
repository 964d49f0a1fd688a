"""A recorder whose disk fills up and is then emptied: `python -m tests.storage.full_disk DATABASE`.

No file may grow beyond a bound for a while, which the database sees as a disk that takes nothing more.
"""

import resource
import sys
import time

from msgspec.structs import replace

from tests.storage.samples import trace
from weaklink.inspector.capture.events import ChunksArrived, TraceEnded, TraceStarted, TurnStarted
from weaklink.inspector.model import Chunk, Role
from weaklink.storage.live import StoreSink


def main(database: str) -> None:
    sink = StoreSink(database)
    sink.accept(TraceStarted("k", replace(trace("full"), turns=())))
    sink.accept(TurnStarted("k", 1, Role.ASSISTANT))
    sink.flush()
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, unlimited[1]))
    for index in range(20_000):
        sink.accept(ChunksArrived("k", 1, (Chunk(index, "text", f"{index * 7919 % 100_003} "),)))
    until = time.monotonic() + 30
    while sink.trouble is None and time.monotonic() < until:
        time.sleep(0.01)
    sys.stdout.write(f"{sink.trouble}\n")
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    sink.accept(TraceEnded("k"))
    sink.close()
    sys.stdout.write(f"dropped {sink.dropped}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
