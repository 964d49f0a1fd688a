"""How long a plan of blocks takes on many cores: a formula, and the discrete-event simulation that it is checked by.

The driver hands blocks out one after another, each at a fixed cost. A worker that gets one fetches its bytes, from a
store that sends at most so many bytes a second to one worker and to all together, and then computes. The formula knows
the three bounds (work over cores, the driver, the store), and the last block to finish; the simulation plays every
block. What neither has: workers that die, and other users of the store.
"""

from collections.abc import Sequence
from heapq import heapify, heapreplace

from msgspec import Struct


class Task(Struct, frozen=True):
    """A block: the seconds that a core computes, and the bytes that it reads and writes."""

    seconds: float
    size_bytes: int


class ClusterLimits(Struct, frozen=True):
    """Seconds of the driver for a block, start of the workers, and the store's bytes a second to one and to all."""

    dispatch_s: float = 0.0
    start_s: float = 0.0
    to_one: float = float("inf")
    to_all: float = float("inf")


def simulated_s(tasks: Sequence[Task], cores: int, limits: ClusterLimits) -> float:
    """The seconds until the last block is finished, block by block in their order.

    The store is a queue: a block's bytes go through it at `to_all`, and take at least as long as `to_one` says.
    """
    free = [limits.start_s] * min(cores, len(tasks))
    heapify(free)
    driver_s = store_s = limits.start_s
    end_s = 0.0
    for task in tasks:
        driver_s = max(driver_s, free[0]) + limits.dispatch_s
        store_s = max(store_s, driver_s) + task.size_bytes / limits.to_all
        fetched_s = max(store_s, driver_s + task.size_bytes / limits.to_one)
        end_s = max(end_s, fetched_s + task.seconds)
        heapreplace(free, fetched_s + task.seconds)
    return end_s


def estimated_s(tasks: Sequence[Task], cores: int, limits: ClusterLimits) -> float:
    """The seconds by the formula: the greatest of the three bounds, and on average half of a longest block at the end.

    With no more blocks than cores, the longest block is what takes long.
    """
    times = [task.seconds + task.size_bytes / limits.to_one for task in tasks]
    longest = max(times)
    work = sum(times) / min(cores, len(tasks)) + longest / 2 if len(tasks) > cores else longest
    driver = limits.dispatch_s * len(tasks)
    store = sum(task.size_bytes for task in tasks) / limits.to_all
    last = tasks[-1].seconds
    return limits.start_s + max(work + limits.dispatch_s * min(cores, len(tasks)) / 2, driver + last, store + last)
