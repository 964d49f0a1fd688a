"""The value of the fixture `weaklink`: assertions about traces. What does the work loads when a test first uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.errors import WeaklinkError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.inspected import Inspection
    from inspector.pytest_plugin.assertions import MessageList, TraceInput


class Weaklink:
    """Asks weaklink about what an agent did.

    A `trace` is a Trace, a path to a log that can be imported (every trace in it counts), a raw text that a model
    wrote, or a list of messages as OpenAI has them. A text that names a file is a path; with `format` it is always a
    raw text.
    `tools` are OpenAI's definitions of the tools that were offered, for texts and messages, which do not say it.
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
        """Fail where a step of the chain failed and the agent did not recover from it.

        `select` and `ignore` are rule codes, names or code prefixes: a step that failed by another rule, or by one that
        is ignored, does not count. With `fail_on="warning"` a trace that was aborted fails too, with "info" also one
        that recovered. Raises AssertionError with the verdict and the faults in their place; UnreadableFileError,
        UnknownFormatError, UnknownRuleError, and TypeError where `trace` is none.
        """
        __tracebackhide__ = True
        from inspector.pytest_plugin.assertions import unbroken  # noqa: PLC0415  # the inspector loads when it is asked

        try:
            said = unbroken(trace, select=select, ignore=ignore, fail_on=fail_on, format=format, tools=tools)
        except WeaklinkError as error:
            raise error.with_traceback(None) from None  # the test's own line says enough
        if said:
            raise AssertionError(said)

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
        """Fail where anything is wrong: a diagnostic of severity `fail_on` ("error", "warning", "info") or above.

        The rest is as with `assert_unbroken`; here it does not matter whether the agent recovered.
        """
        __tracebackhide__ = True
        from inspector.pytest_plugin.assertions import clean  # noqa: PLC0415  # the inspector loads when it is asked

        try:
            said = clean(trace, select=select, ignore=ignore, fail_on=fail_on, format=format, tools=tools)
        except WeaklinkError as error:
            raise error.with_traceback(None) from None  # the test's own line says enough
        if said:
            raise AssertionError(said)

    def inspect(self, trace: TraceInput, *, format: str = "", tools: MessageList = ()) -> tuple[Inspection, ...]:
        """What weaklink says of each trace, for assertions of one's own. Raises as `assert_unbroken` does."""
        from inspector.pytest_plugin.assertions import inspected  # noqa: PLC0415  # the inspector loads when it is asked

        return tuple(one.inspection for one in inspected(trace, format, tools))
