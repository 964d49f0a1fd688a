"""An agent on pydantic-ai; its answers come whole."""

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from weather import MODEL, SYSTEM, get_weather, main, recorded


def ask(question):
    provider = OpenAIProvider(openai_client=recorded(AsyncOpenAI(max_retries=2)))
    agent = Agent(OpenAIChatModel(MODEL, provider=provider), instructions=SYSTEM, tools=[get_weather])
    return agent.run_sync(question).output


main(ask)
