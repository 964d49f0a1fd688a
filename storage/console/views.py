"""The views that a user's SQL may read: their names and columns are stable while the tables change.

Texts are escaped as in the tables: NUL, U+001A and lone surrogates are U+001A and four hexadecimal digits
(`packing.blobs`). Times are in seconds since 1970-01-01 UTC, durations in seconds; turns and steps are numbered from 1.
"""

from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from weaklink.storage import tables


class ViewColumn(Struct, frozen=True):
    """A column of a view; `says` describes its values."""

    name: str
    says: str
    source: sa.Column[Any]


class View(Struct, frozen=True):
    """A view; `says` describes one row."""

    name: str
    says: str
    columns: tuple[ViewColumn, ...]

    def select(self) -> sa.Select[*tuple[Any, ...]]:
        """The SELECT of the view."""
        return sa.select(*(column.source.label(column.name) for column in self.columns))


def _columns(table: sa.Table, *described: tuple[str, str] | tuple[str, str, str]) -> tuple[ViewColumn, ...]:
    """Columns of a table by name and description; the third item is the column's name in the table, if it differs."""
    return tuple(
        ViewColumn(column[0], column[1], table.c[column[-1] if len(column) == 3 else column[0]]) for column in described
    )


VIEWS: tuple[View, ...] = (
    View(
        "traces",
        "a trace",
        _columns(
            tables.trace,
            ("id", "its number"),
            ("name", "its name"),
            ("source", "where it came from: `record`, `codex`, ..."),
            ("file", "the file it was imported from"),
            ("model", "the first model that answered"),
            ("format", "the format it was read as"),
            ("started_at", "when it started, or null", "started_at_s"),
            ("imported_at", "when it was added to the database", "imported_at_s"),
            ("duration", "how long it took, or null", "duration_s"),
            ("first_token", "the longest wait for a first chunk, or null", "first_token_s"),
            ("max_gap", "the longest wait between two chunks, or null", "max_gap_s"),
            ("turns", "number of turns"),
            ("characters", "code points in all texts"),
            ("input_tokens", "reported input tokens, or null"),
            ("output_tokens", "reported output tokens, or null"),
            (
                "status",
                "`broken`, `aborted`, `recovered`, `unknown` (the source did not store the last answer) or `ok`",
            ),
            ("outcome", "whether the source reports its task as done: `success`, `failure` or `unknown`"),
            ("reward", "the reward or score that the source reports, or null"),
            ("abort_reason", "why it was aborted, or null"),
            ("tool_calls", "calls that the model made"),
            ("steps", "steps of its chain"),
            ("steps_ok", "successful steps"),
            ("steps_failed", "failed steps"),
            ("steps_recovered", "failed steps that were recovered"),
            ("errors", "diagnostics of severity error"),
            ("warnings", "diagnostics of severity warning"),
            ("context_share", "the largest share of its context window that a turn used, or null"),
            ("certainty", "how sure the status is, `high` or `low`; null before `weaklink db reinspect`"),
            ("reasoning", "`on`, `off` or `mixed`"),
            ("prompt", "a hash of its system prompt and tools", "prompt_hash"),
            ("break_step", "the step that broke the chain, or null"),
            ("break_turn", "the turn of that step, or null"),
            ("break_tool", "the tool of that step, or null"),
            ("break_outcome", "the outcome of that step, or null"),
            ("break_code", "the code of the rule, null if there is no break"),
            ("break_message", "the message of the break, or null"),
        ),
    ),
    View(
        "turns",
        "a turn of a trace",
        _columns(
            tables.turn,
            ("trace_id", "its trace"),
            ("number", "its position in the trace, from 1"),
            ("role", "`system`, `user`, `assistant` or `tool`"),
            ("requested_model", "the requested model"),
            ("answered_model", "the model that answered"),
            ("finish", "why the generation ended, or null"),
            ("started_at", "when the generation started, or null", "started_at_s"),
            ("ended_at", "when it ended, or null", "ended_at_s"),
            ("input_tokens", "reported input tokens, or null"),
            ("output_tokens", "reported output tokens, or null"),
        ),
    ),
    View(
        "calls",
        "a tool call",
        _columns(
            tables.call,
            ("trace_id", "its trace"),
            ("turn", "its turn"),
            ("part", "the part of the turn"),
            ("start", "the offset of its first character in that part", "start"),
            ("end", "the offset after its last character", "end"),
            ("tool", "the tool's name, or null if it could not be read", "name"),
            ("step", "its step, or null"),
            ("valid", "whether it strictly follows its format and names a tool"),
            ("recovered", "whether it is not valid but could still be read"),
            ("outcome", "its outcome"),
            ("certainty", "how certain it is that its result is an error, or null"),
            ("recovery", "how it was recovered, or null"),
            ("recovered_by", "the step that recovered it, or null"),
            ("result_kind", "`failure`, `finding`, `probe`, `rejected`, `not-run`, or null for a result as wanted"),
            ("said", "what the agent said of it: `reported`, `silent`, `concealed`, or null"),
        ),
    ),
    View(
        "diagnostics",
        "a fault",
        _columns(
            tables.diagnostic,
            ("trace_id", "its trace"),
            ("turn", "its turn"),
            ("part", "the part of the turn"),
            ("start", "the offset of its first character in that part", "start"),
            ("end", "the offset after its last character", "end"),
            ("code", "the code of the rule"),
            ("severity", "`error`, `warning` or `info`"),
        ),
    ),
    View(
        "external_ids",
        "an id that a source assigned to a trace",
        _columns(
            tables.external_id,
            ("trace_id", "the trace"),
            ("name", "the source's name for this id"),
            ("value", "the id"),
        ),
    ),
    View(
        "marks",
        "a mark that a user set",
        _columns(
            tables.mark,
            ("trace_id", "its trace"),
            ("turn", "its turn, or null"),
            ("step", "its step, or null"),
            ("note", "its note"),
            ("marked_at", "when it was set", "marked_at_s"),
            ("author", "who set it, if known"),
        ),
    ),
)
