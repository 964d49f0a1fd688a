"""An agent on openai's chat completions, streamed."""

import openai
from weather import MODEL, SCHEMA, SYSTEM, called, main, recorded

TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}
client = recorded(openai.OpenAI(max_retries=2))


def ask(question):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    while True:
        with client.chat.completions.stream(model=MODEL, messages=messages, tools=[TOOL]) as stream:
            said = stream.get_final_completion().choices[0].message
        if not said.tool_calls:
            return said.content
        calls = [
            {"id": call.id, "type": "function"}
            | {"function": {"name": call.function.name, "arguments": call.function.arguments}}
            for call in said.tool_calls
        ]
        messages.append({"role": "assistant", "content": said.content, "tool_calls": calls})
        for call in said.tool_calls:
            result = called(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


main(ask)
