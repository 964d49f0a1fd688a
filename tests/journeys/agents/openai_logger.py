"""An agent on openai's chat completions that writes down what happens itself, with a `TraceLogger`."""

import openai
from weather import MODEL, PLACE, SCHEMA, SYSTEM, called, main

from weaklink import TraceLogger

TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}
client = openai.OpenAI(max_retries=2)


def answer(messages, log):
    text, calls = "", {}
    with log.assistant() as turn:
        stream = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL], stream=True)
        for piece in turn.wrap(chunk.model_dump(exclude_unset=True) for chunk in stream):
            delta = piece["choices"][0]["delta"]
            text += delta.get("content") or ""
            for part in delta.get("tool_calls") or ():
                call = calls.setdefault(part["index"], {"id": "", "type": "function", "function": {}})
                call["id"] += part.get("id") or ""
                for key, value in part["function"].items():
                    call["function"][key] = call["function"].get(key, "") + value
    return {"role": "assistant", "content": text or None} | ({"tool_calls": list(calls.values())} if calls else {})


def ask(question):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    with TraceLogger(PLACE, model=MODEL, tools=[TOOL]) as log:
        log.system(SYSTEM)
        log.user(question)
        while True:
            said = answer(messages, log)
            if "tool_calls" not in said:
                return said["content"]
            messages.append(said)
            for call in said["tool_calls"]:
                result = called(call["function"]["arguments"])
                log.tool(result, call_id=call["id"], name=call["function"]["name"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


main(ask)
