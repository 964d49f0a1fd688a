"""What a request to a model says, whichever API it is for."""

from collections.abc import Collection

from msgspec import Struct

from inspector.model import Generation, Json, ToolDefinition, ToolsOrigin, Turn
from inspector.wire.provider_json import compact_json


class DecodedRequest(Struct, frozen=True):
    """A request, decoded: the conversation so far, the tools offered, and how the answer shall be made.

    `turns` are the messages in order, the system prompt first where the API keeps it apart. `parameters` is every other
    member of the request as compact JSON, `""` where there are none. `streams` is whether a stream was asked for.
    `continues` is the id of the response that it goes on from, whose conversation is then not repeated
    (`previous_response_id`), `""` where there is none.
    """

    api: str
    model: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolDefinition, ...] = ()
    parameters: str = ""
    streams: bool = False
    continues: str = ""

    def generation(self) -> Generation:
        """What the request says of the answer's generation."""
        return Generation(
            api=self.api,
            requested_model=self.model,
            parameters=self.parameters,
            tools=self.tools,
            tools_origin=ToolsOrigin.REQUEST if self.tools else None,
        )


def parameters_of(request: dict[str, Json], *, without: Collection[str]) -> str:
    """The members of a request that are settings, as compact JSON; `""` where there are none."""
    settings: dict[str, Json] = {key: value for key, value in request.items() if key not in without}
    return compact_json(settings) if settings else ""
