"""Partitions by time on PostgreSQL, for the tables with the rows of traces; see `storage.partitions`.

The existing tables become the first partition without copying: each table is renamed and attached. No table keeps its
foreign key to `trace`: deleting a trace would query every partition of every table, and cost eight times as much.
"""

import sqlalchemy as sa
from alembic import op

revision = "v0013"
down_revision = "v0012"
branch_labels = None
depends_on = None

_STEP, _AHEAD = 1_000_000, 2
_TABLES = (
    *("external_id", "turn", "part", "inspection", "call", "diagnostic", "trace_tool", "trace_code", "argument"),
    *("figures", "violation", "exchange", "search_text"),
)
_OTHERS = ("mark", "search_pending", "live", "live_piece")
_CONSTRAINTS = """
SELECT conname, contype::text, confrelid = 'trace'::regclass, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = '"{name}"'::regclass AND contype IN ('p', 'f') ORDER BY contype DESC, conname
"""
_INDEXES = """
SELECT relname, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indrelid = '"{name}"'::regclass AND NOT indisprimary ORDER BY relname
"""
_LIKE = "INCLUDING DEFAULTS INCLUDING STORAGE"


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    last = op.get_bind().scalar(
        sa.text("SELECT pg_sequence_last_value(pg_get_serial_sequence('trace', 'id')::regclass)")
    )
    first = (last or 0) // _STEP
    for name in _TABLES:
        constraints, indexes = _set_aside(name, f"p{first}")
        _execute(f'CREATE TABLE "{name}" (LIKE "{name}_p{first}" {_LIKE}) PARTITION BY RANGE (trace_id)')
        for constraint, _, is_of_trace, definition in constraints:
            if not is_of_trace:
                _execute(f'ALTER TABLE "{name}" ADD CONSTRAINT "{constraint}" {definition}')
        for _, definition in indexes:
            _execute(definition)
        end = (first + 1) * _STEP
        _execute(f'ALTER TABLE "{name}" ATTACH PARTITION "{name}_p{first}" FOR VALUES FROM (MINVALUE) TO ({end})')
        for number in range(first + 1, first + 1 + _AHEAD):
            _execute(f'CREATE TABLE "{name}_p{number}" (LIKE "{name}" INCLUDING ALL)')
            bounds = f"FROM ({number * _STEP}) TO ({(number + 1) * _STEP})"
            _execute(f'ALTER TABLE "{name}" ATTACH PARTITION "{name}_p{number}" FOR VALUES {bounds}')
    for name in _OTHERS:
        _execute(f'ALTER TABLE "{name}" DROP CONSTRAINT "fk_{name}_trace_id"')


def downgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for name in _TABLES:
        constraints, indexes = _set_aside(name, "all")
        _execute(f'CREATE TABLE "{name}" (LIKE "{name}_all" {_LIKE})')
        _execute(f'INSERT INTO "{name}" SELECT * FROM "{name}_all"')
        _execute(f'DROP TABLE "{name}_all"')
        for constraint, _, _, definition in constraints:
            _execute(f'ALTER TABLE "{name}" ADD CONSTRAINT "{constraint}" {definition}')
        for _, definition in indexes:
            _execute(definition)
    for name in (*_TABLES, *_OTHERS):
        key = f'CONSTRAINT "fk_{name}_trace_id" ' if name != "search_text" else ""
        _execute(f'ALTER TABLE "{name}" ADD {key}FOREIGN KEY (trace_id) REFERENCES trace (id) ON DELETE CASCADE')


def _set_aside(name: str, suffix: str) -> tuple[list[tuple[str, str, bool, str]], list[tuple[str, str]]]:
    """Rename a table with its key and indexes, so that their names are free; returns its constraints and indexes."""
    bind = op.get_bind()
    found = bind.execute(sa.text(_CONSTRAINTS.format(name=name)))
    constraints = [(str(one[0]), str(one[1]), bool(one[2]), str(one[3])) for one in found]
    indexes = [(str(one[0]), str(one[1])) for one in bind.execute(sa.text(_INDEXES.format(name=name)))]
    _execute(f'ALTER TABLE "{name}" RENAME TO "{name}_{suffix}"')
    for constraint, kind, is_of_trace, _ in constraints:
        if kind == "p":
            _execute(f'ALTER TABLE "{name}_{suffix}" RENAME CONSTRAINT "{constraint}" TO "{constraint}_{suffix}"')
        elif is_of_trace:
            _execute(f'ALTER TABLE "{name}_{suffix}" DROP CONSTRAINT "{constraint}"')
    for index, _ in indexes:
        _execute(f'ALTER INDEX "{index}" RENAME TO "{index}_{suffix}"')
    return constraints, indexes


def _execute(statement: str) -> None:
    op.execute(sa.text(statement.replace(":", "\\:")))
