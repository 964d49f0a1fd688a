"""All that `weaklink stats` tells, wherever the traces were: what its views show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inspector.chain.metrics import FEWEST
from inspector.chain.metrics_comparing import MeasureComparison
from inspector.chain.metrics_groups import GroupFigures, GroupKey, Slice
from inspector.checks.schema_complexity import SchemaComplexity
from storage import Prompt, Violations


@dataclass(frozen=True, slots=True)
class Statistics:
    """Metrics over a set of traces.

    `whole` is all of them in one group, None where there are none; `groups` are those that `by` makes. `steps`, `codes`
    and `aborts` tell how many traces broke at which step, by what, and why others were cut off. `comparisons` hold each
    group against `baseline`. `prompts` says what the hashes of prompts stand for, `schemas` how intricate the schema of
    each tool is where it was offered in a request. `uncounted` traces are in none of the
    numbers. Groups of fewer than `fewest` traces have no intervals.
    """

    whole: GroupFigures | None
    by: Sequence[GroupKey] = ()
    groups: Sequence[GroupFigures] = ()
    steps: Sequence[Slice] = ()
    codes: Sequence[Slice] = ()
    aborts: Sequence[Slice] = ()
    violations: Sequence[Violations] = ()
    comparisons: Sequence[MeasureComparison] = ()
    baseline: GroupFigures | None = None
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    schemas: Mapping[str, SchemaComplexity] = field(default_factory=dict)
    uncounted: int = 0
    fewest: int = FEWEST
