"""An agent on anthropic's messages, streamed."""

import anthropic
from weather import MODEL, SCHEMA, SYSTEM, get_weather, main, recorded

TOOL = {"name": "get_weather", "input_schema": SCHEMA}
client = recorded(anthropic.Anthropic(max_retries=2))


def ask(question):
    messages = [{"role": "user", "content": question}]
    while True:
        with client.messages.stream(
            model=MODEL, max_tokens=99, system=SYSTEM, messages=messages, tools=[TOOL]
        ) as stream:
            said = stream.get_final_message()
        if said.stop_reason != "tool_use":
            return "".join(block.text for block in said.content if block.type == "text")
        kept = {"type", "id", "name", "input", "text"}
        messages.append({"role": "assistant", "content": [block.model_dump(include=kept) for block in said.content]})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": get_weather(**block.input)}
            for block in said.content
            if block.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})


main(ask)
