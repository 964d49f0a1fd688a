"""An agent on openai-agents over Responses, streamed."""

import asyncio

from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from weather import MODEL, SYSTEM, get_weather, main, recorded

set_tracing_disabled(True)
weather = function_tool(get_weather, failure_error_function=None)


async def answer(question):
    model = OpenAIResponsesModel(MODEL, recorded(AsyncOpenAI(max_retries=2)))
    result = Runner.run_streamed(Agent(name="weather", instructions=SYSTEM, model=model, tools=[weather]), question)
    async for _ in result.stream_events():
        pass
    return result.final_output


main(lambda question: asyncio.run(answer(question)))
