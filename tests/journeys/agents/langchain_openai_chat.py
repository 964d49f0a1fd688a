"""An agent on LangChain with langchain-openai, streamed."""

from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from weather import MODEL, SYSTEM, get_weather, main, recorded

model = ChatOpenAI(model=MODEL, max_retries=2)
recorded(model.root_client)
bound = model.bind_tools([tool(get_weather)])


def ask(question):
    messages = [SystemMessage(SYSTEM), HumanMessage(question)]
    while True:
        said = None
        for piece in bound.stream(messages):
            said = piece if said is None else said + piece
        if not said.tool_calls:
            return said.content
        messages.append(said)
        messages += [ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"]) for call in said.tool_calls]


main(ask)
