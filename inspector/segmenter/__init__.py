r"""Splits one part's text into spans and events, without I/O.

Theory of operation. A format is a table (`table`): states with a kind of text each, and transitions by markers. With
that of `hermes`, `Hi.<tool_call>\n{"name": "tide", "arguments": {}}\n</tool_call>` in four deltas passes these stages:

    delta                               `Machine.feed` returns                        held back
    `Hi.<to`                            SpanOpened(text, 0)                           `<to`, which may be a marker
    `ol_call>\n{"name": "tide", `       SpanClosed(text, 0-3), SpanOpened(call, 3)    nothing
    `"arguments": {}}\n</tool`          nothing                                       `</tool`
    `_call>`                            SpanClosed(call, 3-61, inner 14-49)           nothing

The closed events depend on the text alone, not on how it is cut. Their spans add up to the text, whatever it is. Faults
of markers are events as well (`Flagged`).

`Assembler` takes the events. It gives the inner text of a closed span to the format's reader for its kind, which
returns a `ParseResult`: calls, results or definitions with the ranges of their parts, and the faults of the payload.
They are moved to their place in the whole text, and small spans become children of the span around them:

    spans   text 0-3, tool_call 3-61
    calls   tide, range 15-48, arguments_range 45-47, span 1

A whole text in which nothing is unusual takes another way to the same closed events (`fast_lane`): regular expressions
that are built from the table. `window` is the section of text that the machine searches, `messages` the wording of
faults.
"""
