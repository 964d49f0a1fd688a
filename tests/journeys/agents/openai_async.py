"""An agent on openai's asynchronous client; its answers come whole."""

import asyncio

import openai
from weather import MODEL, SCHEMA, SYSTEM, called, main, recorded

TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}


async def answer(question):
    client = recorded(openai.AsyncOpenAI(max_retries=2))
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    while True:
        whole = await client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL])
        said = whole.choices[0].message
        if not said.tool_calls:
            return said.content
        messages.append(said.model_dump(exclude_none=True))
        for call in said.tool_calls:
            result = called(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


main(lambda question: asyncio.run(answer(question)))
