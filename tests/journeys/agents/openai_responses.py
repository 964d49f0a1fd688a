"""An agent on openai's Responses, streamed."""

import openai
from weather import MODEL, SCHEMA, SYSTEM, called, main, recorded

TOOL = {"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": False}
client = recorded(openai.OpenAI(max_retries=2))


def ask(question):
    messages = [{"role": "user", "content": question}]
    while True:
        with client.responses.stream(model=MODEL, instructions=SYSTEM, input=messages, tools=[TOOL]) as stream:
            said = stream.get_final_response()
        calls = [item for item in said.output if item.type == "function_call"]
        if not calls:
            return said.output_text
        messages += [item.model_dump(exclude={"parsed_arguments"}) for item in said.output]
        for call in calls:
            messages.append({"type": "function_call_output", "call_id": call.call_id, "output": called(call.arguments)})


main(ask)
