"""An agent on ollama, streamed; it repeats a request itself when the server asks it to slow down."""

import ollama
from weather import MODEL, SYSTEM, get_weather, main, recorded

client = recorded(ollama.Client())


def answer(messages):
    try:
        pieces = [
            chunk.message for chunk in client.chat(model=MODEL, messages=messages, tools=[get_weather], stream=True)
        ]
    except ollama.ResponseError as error:
        if error.status_code != 429:
            raise
        return answer(messages)
    calls = [call for piece in pieces for call in piece.tool_calls or ()]
    text = "".join(piece.content or "" for piece in pieces)
    return ollama.Message(role="assistant", content=text, tool_calls=calls or None)


def ask(question):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    while True:
        said = answer(messages)
        if not said.tool_calls:
            return said.content
        messages.append(said)
        for call in said.tool_calls:
            result = get_weather(**call.function.arguments)
            messages.append({"role": "tool", "tool_name": call.function.name, "content": result})


main(ask)
