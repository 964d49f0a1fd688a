"""What the templates of the APIs share: a conversation is the body of a request, the tools a field of it."""

import json
from collections.abc import Callable, Iterator, Sequence

from inspector.formats.completion import Piece
from inspector.formats.completion.pieces import tidy
from inspector.formats.format import Format
from inspector.formats.template import Message, Template, grouped
from inspector.formats.templates.shapes import contents
from inspector.formats.writing import json_of
from inspector.model import Json, Role, ToolDefinition, ToolResult


def api_template(
    *,
    answer: Callable[[Sequence[Piece]], dict[str, Json]],
    returned: Callable[[Sequence[ToolResult]], dict[str, Json]],
    offered: Callable[[Sequence[ToolDefinition]], Json],
    request: Callable[[str, list[Json]], dict[str, Json]],
    words: Callable[[Message], Json],
    system_apart: bool,
    shares_turn: bool,
) -> Template:
    """A Template of a request's body.

    `request` makes the body of the system's words and the messages; `system_apart` says that those words are
    no message. `answer`, `returned` and `words` make a message of the model's, the tools' and anybody else's turn.
    """

    def transcript(messages: Sequence[Message], tools: Sequence[ToolDefinition], _format: Format) -> str:
        system = [message.text for message in messages if message.role is Role.SYSTEM] if system_apart else []
        others = [message for message in messages if not (system_apart and message.role is Role.SYSTEM)]
        body = request("\n\n".join(system), list(written(others)))
        body |= {"tools": offered(tools)} if tools else {}
        return json.dumps(body, ensure_ascii=False, indent=1) if _is_plain(body) else json_of(body)

    def written(messages: Sequence[Message]) -> Iterator[Json]:
        for message in grouped(messages, shares_turn=shares_turn):
            if message.role is Role.ASSISTANT:
                yield answer(tidy(message.pieces))
            elif message.role is Role.TOOL:
                yield returned(message.results)
            else:
                yield words(message)

    return Template(
        tools=lambda _tools: "",
        results=contents,
        transcript=transcript,
        shares_turn=shares_turn,
        answer=answer,
        returned=returned,
        offered=offered,
    )


def _is_plain(body: Json) -> bool:
    try:
        json.dumps(body, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return False
    return True
