"""The model of a cluster, with task times that are fixed: what can be worked out by hand, and formula against play."""

import random

import pytest

from benchmarks.cluster_model import ClusterLimits, Task, estimated_s, simulated_s

EVEN = [Task(2.0, 10)] * 40


@pytest.mark.parametrize(
    ("cores", "limits", "seconds"),
    [
        (1, ClusterLimits(), 80),
        (10, ClusterLimits(), 8),
        (1_000, ClusterLimits(), 2),
        (10, ClusterLimits(start_s=3), 11),
        (40, ClusterLimits(dispatch_s=1), 40 + 2),  # the driver is the bound
        (40, ClusterLimits(to_all=10), 40 + 2),  # the store is the bound: a second a block
        (10, ClusterLimits(to_one=5), 16),  # each fetches two seconds, then computes two
    ],
)
def test_even_blocks_take_what_can_be_worked_out(cores: int, limits: ClusterLimits, seconds: float) -> None:
    assert simulated_s(EVEN, cores, limits) == pytest.approx(seconds)


def test_a_long_block_at_the_end_is_waited_for() -> None:
    assert simulated_s([*EVEN, Task(50.0, 10)], 10, ClusterLimits()) == pytest.approx(8 + 50)
    assert simulated_s([Task(50.0, 10), *EVEN], 10, ClusterLimits()) == pytest.approx(50)


@pytest.mark.parametrize("cores", [10, 30, 100, 300, 1_000])
@pytest.mark.parametrize("blocks", [50, 1_000, 5_000])
def test_the_formula_is_near_the_simulation(cores: int, blocks: int) -> None:
    chance = random.Random(23)
    tasks = [Task(chance.uniform(8, 12), 8 << 20) for _ in range(blocks)]
    limits = ClusterLimits(0.003, 4.0, 50e6, 5e9)
    assert estimated_s(tasks, cores, limits) == pytest.approx(simulated_s(tasks, cores, limits), rel=0.15)


def test_more_cores_never_take_longer() -> None:
    limits = ClusterLimits(0.01, 1.0, 50, 1_000)
    times = [simulated_s(EVEN, cores, limits) for cores in range(1, 60)]
    assert times == sorted(times, reverse=True)
