"""The value of the fixture `weaklink`: assertions about traces. Its modules are imported when a test first uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weaklink.inspector.errors import WeaklinkError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weaklink.inspector.inspected import Inspection
    from weaklink.inspector.pytest_plugin.assertions import MessageList, TraceInput


class Weaklink:
    """Checks what an agent did.

    A `trace` is a Trace, a path to a log that can be imported (every trace in it counts), a raw text that a model
    wrote, or a list of messages in OpenAI's shape. A text that names a file is a path; with `format` it is always a raw
    text.
    `tools` are the offered tools as OpenAI's definitions, for texts and messages, which do not contain them.
    """

    def assert_unbroken(
        self,
        trace: TraceInput,
        *,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        fail_on: str = "error",
        format: str = "",
        tools: MessageList = (),
    ) -> None:
        """Fail if a step of the chain failed and the agent did not recover from it.

        `select` and `ignore` are rule codes, names or code prefixes: a step that failed by another rule, or by one that
        is ignored, does not count. `fail_on="broken"` is the same as "error"; with "warning" a trace that was aborted
        fails too, with "info" also one that recovered. Raises AssertionError with the verdict and the faults in their
        place; UnreadableFileError, UnknownFormatError, UnknownRuleError, and TypeError if `trace` is none of the above.
        """
        __tracebackhide__ = True
        from weaklink.inspector.pytest_plugin.assertions import unbroken  # noqa: PLC0415  # imported on first use

        try:
            report = unbroken(trace, select=select, ignore=ignore, fail_on=fail_on, format=format, tools=tools)
        except WeaklinkError as error:
            raise error.with_traceback(None) from None  # the test's own line is enough
        if report:
            raise AssertionError(report)

    def assert_clean(
        self,
        trace: TraceInput,
        *,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        fail_on: str = "error",
        format: str = "",
        tools: MessageList = (),
    ) -> None:
        """Fail if anything is wrong: as `weaklink check`, which fails for broken chains whatever the severity.

        A diagnostic of severity `fail_on` ("error", "warning", "info") or above fails, even if the agent recovered. A
        broken chain fails too; with "broken", nothing else does. The rest is as with `assert_unbroken`.
        """
        __tracebackhide__ = True
        from weaklink.inspector.pytest_plugin.assertions import clean  # noqa: PLC0415  # imported on first use

        try:
            report = clean(trace, select=select, ignore=ignore, fail_on=fail_on, format=format, tools=tools)
        except WeaklinkError as error:
            raise error.with_traceback(None) from None  # the test's own line is enough
        if report:
            raise AssertionError(report)

    def inspect(self, trace: TraceInput, *, format: str = "", tools: MessageList = ()) -> tuple[Inspection, ...]:
        """The inspection of each trace, for custom assertions. Raises as `assert_unbroken` does."""
        from weaklink.inspector.pytest_plugin.assertions import inspected  # noqa: PLC0415  # imported on first use

        return tuple(result.inspection for result in inspected(trace, format, tools))
