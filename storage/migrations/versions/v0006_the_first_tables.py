"""The first released tables; older versions were never released and cannot be upgraded."""

import sqlalchemy as sa
from alembic import op

revision = "v0006"
down_revision = None
branch_labels = None
depends_on = None

_BY_HAND = {
    "sqlite": (
        "CREATE VIRTUAL TABLE search_text USING fts5(body, content='', tokenize='unicode61 remove_diacritics 2')",
        # For the first and last time of the traces in a range of ids: the text index is ordered by id, and these times
        # determine which ranges of it to search. The text index of PostgreSQL has no order and does not need this.
        "CREATE INDEX search_text_times ON trace (id / 4096, sort_at_s)",
    ),
    "postgresql": (
        """CREATE TABLE search_text (
            trace_id INTEGER NOT NULL REFERENCES trace (id) ON DELETE CASCADE,
            piece INTEGER NOT NULL,
            body TSVECTOR NOT NULL,
            PRIMARY KEY (trace_id, piece)
        )""",
        "CREATE INDEX ix_search_text_body ON search_text USING gin (body)",
    ),
}


def upgrade() -> None:
    op.create_table(
        "rollup",
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("level", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("block", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("question", "level", "block", name="pk_rollup"),
    )
    op.create_index("ix_rollup_level_block", "rollup", ["level", "block"])
    op.create_table(
        "tool",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tool"),
        sa.UniqueConstraint("hash", name="uq_tool_hash"),
    )
    op.create_index("ix_tool_name", "tool", ["name"])
    op.create_table(
        "toolset",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_toolset"),
        sa.UniqueConstraint("hash", name="uq_toolset_hash"),
    )
    op.create_table(
        "trace",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("identity", sa.LargeBinary(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("started_at_s", sa.Double(), nullable=True),
        sa.Column("imported_at_s", sa.Double(), nullable=False),
        sa.Column("sort_at_s", sa.Double(), nullable=False),
        sa.Column("duration_s", sa.Double(), nullable=True),
        sa.Column("turns", sa.BigInteger(), nullable=False),
        sa.Column("characters", sa.BigInteger(), nullable=False),
        sa.Column("chunks", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("tokens", sa.BigInteger(), nullable=True),
        sa.Column("first_token_s", sa.Double(), nullable=True),
        sa.Column("max_gap_s", sa.Double(), nullable=True),
        sa.Column("prompt_hash", sa.Text(), nullable=False),
        sa.Column("facts", sa.LargeBinary(), nullable=False),
        sa.Column("provenance", sa.LargeBinary(), nullable=False),
        sa.Column("inspector_version", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("abort_reason", sa.Text(), nullable=True),
        sa.Column("tool_calls", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("warnings", sa.BigInteger(), nullable=False),
        sa.Column("infos", sa.BigInteger(), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("reasoning", sa.Text(), nullable=False),
        sa.Column("steps", sa.BigInteger(), nullable=False),
        sa.Column("steps_ok", sa.BigInteger(), nullable=False),
        sa.Column("steps_failed", sa.BigInteger(), nullable=False),
        sa.Column("steps_recovered", sa.BigInteger(), nullable=False),
        sa.Column("break_step", sa.BigInteger(), nullable=True),
        sa.Column("break_turn", sa.BigInteger(), nullable=True),
        sa.Column("break_tool", sa.Text(), nullable=True),
        sa.Column("break_outcome", sa.Text(), nullable=True),
        sa.Column("break_code", sa.Text(), nullable=True),
        sa.Column("break_message", sa.Text(), nullable=True),
        sa.Column("break_reaction", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_trace"),
        sa.UniqueConstraint("identity", name="uq_trace_identity"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_trace_break_step", "trace", ["break_step"])
    op.create_index("ix_trace_duration_s", "trace", ["duration_s"])
    op.create_index("ix_trace_first_token_s", "trace", ["first_token_s"])
    op.create_index("ix_trace_format_sort_at_s_id", "trace", ["format", "sort_at_s", "id"])
    op.create_index("ix_trace_kinds_sort_at_s_id", "trace", ["kinds", "sort_at_s", "id"])
    op.create_index("ix_trace_max_gap_s", "trace", ["max_gap_s"])
    op.create_index("ix_trace_model_sort_at_s_id", "trace", ["model", "sort_at_s", "id"])
    op.create_index("ix_trace_prompt_hash_sort_at_s_id", "trace", ["prompt_hash", "sort_at_s", "id"])
    op.create_index("ix_trace_reasoning_sort_at_s_id", "trace", ["reasoning", "sort_at_s", "id"])
    op.create_index("ix_trace_sort_at_s_id", "trace", ["sort_at_s", "id"])
    op.create_index("ix_trace_source_sort_at_s_id", "trace", ["source", "sort_at_s", "id"])
    op.create_index("ix_trace_status_sort_at_s_id", "trace", ["status", "sort_at_s", "id"])
    op.create_index("ix_trace_tokens", "trace", ["tokens"])
    op.create_index(
        "ix_trace_with_errors",
        "trace",
        ["sort_at_s", "id"],
        sqlite_where=sa.text("errors > 0"),
        postgresql_where=sa.text("errors > 0"),
    )
    op.create_table(
        "argument",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("sort_at_s", sa.Double(), autoincrement=False, nullable=False),
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("number", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_argument_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("name", "value", "sort_at_s", "trace_id", "path", name="pk_argument"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_argument_name_number",
        "argument",
        ["name", "number"],
        sqlite_where=sa.text("number IS NOT NULL"),
        postgresql_where=sa.text("number IS NOT NULL"),
    )
    op.create_index("ix_argument_trace_id", "argument", ["trace_id"])
    op.create_table(
        "call",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("end", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("valid", sa.Boolean(), nullable=False),
        sa.Column("recovered", sa.Boolean(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("certainty", sa.Text(), nullable=True),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("recovery", sa.Text(), nullable=True),
        sa.Column("recovered_by", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_call_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "number", name="pk_call"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "diagnostic",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("end", sa.BigInteger(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_diagnostic_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "number", name="pk_diagnostic"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "external_id",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_external_id_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "number", name="pk_external_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_external_id_value_trace_id", "external_id", ["value", "trace_id"])
    op.create_table(
        "figures",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("well_formed", sa.BigInteger(), nullable=False),
        sa.Column("checked", sa.BigInteger(), nullable=False),
        sa.Column("compliant", sa.BigInteger(), nullable=False),
        sa.Column("answered", sa.BigInteger(), nullable=False),
        sa.Column("error_results", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("recovered", sa.BigInteger(), nullable=False),
        sa.Column("timed", sa.BigInteger(), nullable=False),
        sa.Column("latency_ms", sa.BigInteger(), nullable=False),
        sa.Column("calling_turns", sa.BigInteger(), nullable=False),
        sa.Column("parallel_turns", sa.BigInteger(), nullable=False),
        sa.Column("is_ok", sa.BigInteger(), nullable=False),
        sa.Column("is_recovered", sa.BigInteger(), nullable=False),
        sa.Column("is_broken", sa.BigInteger(), nullable=False),
        sa.Column("is_aborted", sa.BigInteger(), nullable=False),
        sa.Column("is_multi_step", sa.BigInteger(), nullable=False),
        sa.Column("is_multi_step_success", sa.BigInteger(), nullable=False),
        sa.Column("is_judged", sa.BigInteger(), nullable=False),
        sa.Column("is_judged_success", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_figures_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", name="pk_figures"),
    )
    op.create_table(
        "inspection",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_inspection_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", name="pk_inspection"),
    )
    op.create_table(
        "live",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("beat_at_s", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_live_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", name="pk_live"),
    )
    op.create_table(
        "live_piece",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_live_piece_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "turn", "number", name="pk_live_piece"),
    )
    op.create_table(
        "mark",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=True),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("marked_at_s", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_mark_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_mark"),
    )
    op.create_index("ix_mark_trace_id", "mark", ["trace_id"])
    op.create_table(
        "part",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("characters", sa.BigInteger(), nullable=False),
        sa.Column("chunk_count", sa.BigInteger(), nullable=True),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.Column("chunks", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_part_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "turn", "number", name="pk_part"),
    )
    op.create_table(
        "search_pending",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_search_pending_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", name="pk_search_pending"),
    )
    op.create_table(
        "toolset_tool",
        sa.Column("toolset_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("tool_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["tool_id"], ["tool.id"], name="fk_toolset_tool_tool_id"),
        sa.ForeignKeyConstraint(["toolset_id"], ["toolset.id"], name="fk_toolset_tool_toolset_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("toolset_id", "number", name="pk_toolset_tool"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_toolset_tool_tool_id", "toolset_tool", ["tool_id"])
    op.create_table(
        "trace_code",
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("sort_at_s", sa.Double(), autoincrement=False, nullable=False),
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("diagnostics", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_trace_code_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("code", "sort_at_s", "trace_id", name="pk_trace_code"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_trace_code_trace_id", "trace_code", ["trace_id"])
    op.create_table(
        "trace_tool",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sort_at_s", sa.Double(), autoincrement=False, nullable=False),
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("well_formed", sa.BigInteger(), nullable=False),
        sa.Column("checked", sa.BigInteger(), nullable=False),
        sa.Column("compliant", sa.BigInteger(), nullable=False),
        sa.Column("answered", sa.BigInteger(), nullable=False),
        sa.Column("error_results", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("recovered", sa.BigInteger(), nullable=False),
        sa.Column("timed", sa.BigInteger(), nullable=False),
        sa.Column("latency_ms", sa.BigInteger(), nullable=False),
        sa.Column("is_broken", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_trace_tool_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("name", "sort_at_s", "trace_id", name="pk_trace_tool"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_trace_tool_trace_id", "trace_tool", ["trace_id"])
    op.create_table(
        "turn",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("requested_model", sa.Text(), nullable=False),
        sa.Column("answered_model", sa.Text(), nullable=False),
        sa.Column("finish", sa.Text(), nullable=True),
        sa.Column("started_at_s", sa.Double(), nullable=True),
        sa.Column("ended_at_s", sa.Double(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("toolset_id", sa.Integer(), nullable=True),
        sa.Column("facts", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["toolset_id"], ["toolset.id"], name="fk_turn_toolset_id"),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_turn_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "number", name="pk_turn"),
    )
    op.create_index("ix_turn_toolset_id", "turn", ["toolset_id"])
    op.create_table(
        "violation",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("times", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_violation_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "tool", "path", "code", name="pk_violation"),
        sqlite_with_rowid=False,
    )
    for statement in _BY_HAND[op.get_bind().dialect.name]:
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("search_text")
    op.drop_table("violation")
    op.drop_table("turn")
    op.drop_table("trace_tool")
    op.drop_table("trace_code")
    op.drop_table("toolset_tool")
    op.drop_table("search_pending")
    op.drop_table("part")
    op.drop_table("mark")
    op.drop_table("live_piece")
    op.drop_table("live")
    op.drop_table("inspection")
    op.drop_table("figures")
    op.drop_table("external_id")
    op.drop_table("diagnostic")
    op.drop_table("call")
    op.drop_table("argument")
    op.drop_table("trace")
    op.drop_table("toolset")
    op.drop_table("tool")
    op.drop_table("rollup")
