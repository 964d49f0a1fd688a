"""Hand-written conversations without faults, and one fault planted into one of them each.

Written from the issue's list and the public shapes of training data alone, before the rules were read: a fault is an
edit of a conversation (in neutral messages) or of the JSON of its row. `benchmarks.planted_faults` writes them in each
shape and measures what `weaklink data lint` finds.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]


@dataclass
class Conversation:
    """Tools and messages: `text`, `calls`, `reasoning` of user, assistant and system; `results` of the tools."""

    tools: list[dict[str, Any]]
    messages: list[Message]


@dataclass(frozen=True)
class Planted:
    """A fault, and how it is planted; a finding with one of the codes finds it."""

    name: str
    conversation: str
    shape: str
    codes: str
    edit: Callable[[Conversation], Any] | None = None
    replace: tuple[tuple[str, str], ...] = ()
    row: Callable[[dict[str, Any]], Any] | None = None
    before: str = ""  # the row follows the row without the fault (`clean`), or follows itself (`same`)


def _tool(name: str, description: str, required: str = "", **properties: Any) -> dict[str, Any]:
    """A definition; a property is its type, or its schema."""
    schemas = {key: {"type": value} if isinstance(value, str) else value for key, value in properties.items()}
    parameters: dict[str, Any] = {"type": "object", "properties": schemas, "required": required.split()}
    return {"name": name, "description": description, "parameters": parameters}


def _user(text: str) -> Message:
    return {"role": "user", "text": text}


def _system(text: str) -> Message:
    return {"role": "system", "text": text}


def _answer(text: str, reasoning: str = "") -> Message:
    return {"role": "assistant", "text": text, "reasoning": reasoning, "calls": []}


def _call(name: str, reasoning: str = "", **arguments: Any) -> Message:
    return _calls((name, arguments), reasoning=reasoning)


def _calls(*some: tuple[str, dict[str, Any]], reasoning: str = "", text: str = "") -> Message:
    made = [{"name": name, "arguments": arguments} for name, arguments in some]
    return {"role": "assistant", "text": text, "reasoning": reasoning, "calls": made}


def _results(*values: Any) -> Message:
    return {"role": "tool", "results": list(values)}


WEATHER = _tool(
    "get_weather",
    "Current weather in a city.",
    "city",
    city="string",
    unit={"type": "string", "enum": ["celsius", "fahrenheit"]},
    days={"type": "integer", "minimum": 1, "maximum": 14},
)
STOCK = _tool("get_stock_price", "The latest price of a stock.", "symbol", symbol="string")
FLIGHTS = _tool(
    "search_flights",
    "Flights between two airports.",
    "origin destination date",
    origin="string",
    destination="string",
    date={"type": "string", "format": "date"},
    passengers="integer",
)
BOOK = _tool(
    "book_flight", "Book a flight by its id.", "flight_id passengers", flight_id="string", passengers="integer"
)
EMAIL = _tool("send_email", "Send an email.", "to subject body", to="string", subject="string", body="string")
ORDER = _tool("get_order", "An order by its number.", "order_id", order_id="string")
REFUND = _tool("refund_order", "Refund an order.", "order_id amount", order_id="string", amount="number")
CONVERT = _tool(
    "convert_currency",
    "Convert an amount of money.",
    "amount from_currency to_currency",
    amount="number",
    from_currency="string",
    to_currency="string",
)
RECIPES = _tool(
    "find_recipes",
    "Recipes with some ingredients.",
    "ingredients",
    ingredients={"type": "array", "items": {"type": "string"}},
    max_minutes="integer",
)
EVENT = _tool(
    "create_event",
    "Put an event into the calendar.",
    "title start",
    title="string",
    start={"type": "string", "format": "date-time"},
    attendees={"type": "array", "items": {"type": "string"}},
    location={
        "type": "object",
        "properties": {"room": {"type": "string"}, "floor": {"type": "integer"}},
        "required": ["room"],
        "additionalProperties": False,
    },
)
MOVIES = _tool("search_movies", "Films by their director.", "director", director="string", year="integer")
TICKETS = _tool("list_tickets", "Open tickets of a customer.", "customer_id", customer_id="string", status="string")

CONVERSATIONS: dict[str, Conversation] = {
    "weather": Conversation(
        [WEATHER, STOCK],
        [
            _user("What's the weather like in Bergen right now?"),
            _call("get_weather", city="Bergen", unit="celsius"),
            _results({"city": "Bergen", "temperature": 17, "condition": "light rain", "wind_kmh": 22}),
            _answer("It is 17 °C in Bergen with light rain and a wind of 22 km/h."),
        ],
    ),
    "two cities": Conversation(
        [WEATHER],
        [
            _system("You are a friendly travel assistant."),
            _user("Compare today's weather in Lisbon and Porto for me."),
            _calls(("get_weather", {"city": "Lisbon"}), ("get_weather", {"city": "Porto"})),
            _results(
                {"city": "Lisbon", "temperature": 28, "condition": "sunny"},
                {"city": "Porto", "temperature": 21, "condition": "cloudy"},
            ),
            _answer("Lisbon is sunny at 28 °C, while Porto is cloudy at 21 °C."),
        ],
    ),
    "flight": Conversation(
        [FLIGHTS, BOOK, EMAIL],
        [
            _user("Find me a flight from OSL to LHR on 2025-03-14 for two people and book the cheapest one."),
            _call("search_flights", origin="OSL", destination="LHR", date="2025-03-14", passengers=2),
            _results(
                [
                    {"flight_id": "SK803", "price_eur": 148, "departs": "07:20"},
                    {"flight_id": "BA763", "price_eur": 171, "departs": "11:05"},
                ]
            ),
            _call("book_flight", flight_id="SK803", passengers=2),
            _results({"status": "confirmed", "booking": "QX7T2M"}),
            _answer("I booked flight SK803 on 2025-03-14 for two people at 148 EUR. Your booking code is QX7T2M."),
        ],
    ),
    "refund": Conversation(
        [ORDER, REFUND],
        [
            _system("You work in the support of a shop for bicycles."),
            _user("My order A-55812 arrived broken. I want my money back."),
            _call("get_order", order_id="A-55812"),
            _results({"order_id": "A-55812", "item": "Helmet Aero", "total": 89.9, "ordered": "2025-01-22"}),
            _call("refund_order", order_id="A-55812", amount=89.9),
            _results({"refunded": 89.9, "arrives_in_days": 5}),
            _answer("I am sorry about that. I refunded 89.90 for the Helmet Aero; the money arrives in 5 days."),
        ],
    ),
    "currency": Conversation(
        [CONVERT],
        [
            _user("How much is 250 US dollars in Japanese yen?"),
            _call("convert_currency", amount=250, from_currency="USD", to_currency="JPY"),
            _results({"amount": 38725, "rate": 154.9}),
            _answer("250 US dollars are 38,725 yen at a rate of 154.9."),
        ],
    ),
    "recipes": Conversation(
        [RECIPES],
        [
            _user("I have chickpeas, spinach and a lemon. What can I cook in under 30 minutes?"),
            _call("find_recipes", ingredients=["chickpeas", "spinach", "lemon"], max_minutes=30),
            _results([{"title": "Lemony chickpea stew", "minutes": 25}, {"title": "Spinach hummus", "minutes": 10}]),
            _answer("You could make a Lemony chickpea stew in 25 minutes, or Spinach hummus in 10 minutes."),
        ],
    ),
    "calendar": Conversation(
        [EVENT, EMAIL],
        [
            _user("Put a design review into my calendar for 2025-06-03 at 14:00 UTC, room Atlas on floor 3."),
            _call(
                "create_event",
                title="Design review",
                start="2025-06-03T14:00:00Z",
                location={"room": "Atlas", "floor": 3},
            ),
            _results({"id": "evt_2201", "status": "created"}),
            _answer("The design review is in your calendar for 2025-06-03 at 14:00 UTC in room Atlas."),
        ],
    ),
    "chat": Conversation(
        [WEATHER, STOCK],
        [
            _user("Thanks, that was all I needed. Have a nice evening!"),
            _answer("You are welcome, and have a nice evening too!"),
        ],
    ),
    "clarify": Conversation(
        [EMAIL],
        [
            _user("Please send an email to the landlord."),
            _answer("Happily. What is the address of your landlord, and what should the email say?"),
            _user("To berg@husleie.example, subject Heating, and say that the heating has been cold since Monday."),
            _call(
                "send_email",
                to="berg@husleie.example",
                subject="Heating",
                body="Hello, the heating has been cold since Monday. Could you have a look? Thank you.",
            ),
            _results({"status": "sent"}),
            _answer("I sent the email about the heating to berg@husleie.example."),
        ],
    ),
    "movies": Conversation(
        [MOVIES],
        [
            _system("You know a lot about films. Keep your answers short."),
            _user("Which films did Agnès Varda make in 1962?"),
            _call("search_movies", director="Agnès Varda", year=1962),
            _results({"results": [{"title": "Cléo from 5 to 7", "year": 1962}]}),
            _answer("In 1962 Agnès Varda made Cléo from 5 to 7."),
        ],
    ),
    "german": Conversation(
        [TICKETS],
        [
            _user("Welche offenen Tickets hat der Kunde K-7731 im Moment bei uns?"),
            _call("list_tickets", customer_id="K-7731", status="open"),
            _results([{"id": "T-118", "title": "Rechnung fehlt"}, {"id": "T-131", "title": "Login geht nicht"}]),
            _answer("Der Kunde K-7731 hat zwei offene Tickets: T-118 (Rechnung fehlt) und T-131 (Login geht nicht)."),
        ],
    ),
    "thinking": Conversation(
        [STOCK, CONVERT],
        [
            _system("Always think step by step inside <think> tags before you answer or call a tool."),
            _user("What does one share of ASML cost?"),
            _call("get_stock_price", reasoning="The user wants a price, so I look the stock up.", symbol="ASML"),
            _results({"symbol": "ASML", "price": 712.4, "currency": "EUR"}),
            _answer("One share of ASML costs 712.40 EUR.", reasoning="The price is in the result."),
        ],
    ),
}

SHAPES = ("openai", "hermes", "qwen", "llama-factory", "anthropic", "ms-swift", "toolace", "glaive")
CLEAN_SHAPES = ("openai", "hermes", "llama-factory", "anthropic", "ms-swift")  # 5 times 12 rows


def _without(index: int) -> Callable[[Conversation], Any]:
    return lambda conversation: conversation.messages.pop(index)


def _inserted(index: int, message: Message) -> Callable[[Conversation], Any]:
    return lambda conversation: conversation.messages.insert(index, message)


def _texted(index: int, text: str) -> Callable[[Conversation], Any]:
    return lambda conversation: conversation.messages[index].update(text=text)


def _argued(index: int, number: int = 0, **arguments: Any) -> Callable[[Conversation], Any]:
    """The call has these arguments; None leaves one out."""

    def edit(conversation: Conversation) -> None:
        mine = conversation.messages[index]["calls"][number]["arguments"]
        mine.update(arguments)
        for name in [name for name, value in arguments.items() if value is None]:
            del mine[name]

    return edit


def _named(index: int, name: str) -> Callable[[Conversation], Any]:
    return lambda conversation: conversation.messages[index]["calls"][0].update(name=name)


def _swapped(first: int, second: int) -> Callable[[Conversation], Any]:
    def edit(conversation: Conversation) -> None:
        conversation.messages[first], conversation.messages[second] = (
            conversation.messages[second],
            conversation.messages[first],
        )

    return edit


def _defined(edit: Callable[[dict[str, Any]], Any]) -> Callable[[Conversation], Any]:
    return lambda conversation: edit(conversation.tools[0])


def _reasoned(index: int, reasoning: str) -> Callable[[Conversation], Any]:
    return lambda conversation: conversation.messages[index].update(reasoning=reasoning)


def _claim_action(conversation: Conversation) -> None:
    conversation.tools.append(EMAIL)
    conversation.messages = [
        _user("Email anna@example.org that I am late."),
        _answer("I have sent the email to anna@example.org."),
    ]


def _unreasoned_all(conversation: Conversation) -> None:
    for message in conversation.messages:
        message.pop("reasoning", None)


def _many_bad_types(conversation: Conversation) -> None:
    for schema in conversation.tools[0]["parameters"]["properties"].values():
        schema["type"] = "text"


_DUPLICATE_QUESTION = "Please tell me what the weather is like in Bergen at this moment, thanks."

PLANTED: tuple[Planted, ...] = (
    # Arguments against the schema
    Planted("number as text", "flight", "openai", "S202", _argued(1, passengers="2")),
    Planted("text as list", "recipes", "hermes", "S202", _argued(1, ingredients="chickpeas, spinach, lemon")),
    Planted("required argument left out", "currency", "llama-factory", "S201", _argued(1, to_currency=None)),
    Planted("required argument left out", "flight", "anthropic", "S201", _argued(3, passengers=None)),
    Planted("value not in enum", "weather", "ms-swift", "S204", _argued(1, unit="kelvin")),
    Planted("key forbidden", "calendar", "openai", "S203", _argued(1, location={"room": "Atlas", "level": 3})),
    Planted("number out of range", "weather", "qwen", "S205", _argued(1, days=30)),
    Planted("argument no schema mentions", "weather", "openai", "S203", _argued(1, country="Norway")),
    Planted("argument no schema mentions", "movies", "toolace", "S203", _argued(2, language="French")),
    Planted("date in another format", "flight", "hermes", "S209", _argued(1, date="14 March 2025")),
    # Which tool, and its calls
    Planted("unknown tool", "weather", "openai", "D707 T401", _named(1, "get_forecast")),
    Planted("unknown tool", "refund", "anthropic", "D707 T401", _named(4, "issue_refund")),
    Planted("unknown tool", "german", "glaive", "D707 T401", _named(1, "find_tickets")),
    Planted("id from nowhere", "refund", "openai", "T412 V904", _argued(4, order_id="A-99107")),
    Planted("placeholder as argument", "clarify", "openai", "T411 D709", _argued(3, to="landlord@example.com")),
    Planted("placeholder as argument", "weather", "hermes", "T411 D709", _argued(1, city="<city>")),
    Planted("placeholder in answer", "currency", "openai", "D709", _texted(3, "250 US dollars are {{result}} yen.")),
    Planted("call without result", "refund", "openai", "T404", _without(3)),
    Planted("result without call", "weather", "llama-factory", "T403 D706", _without(1)),
    Planted("same call again", "movies", "openai", "T408", _inserted(4, _results({"results": []}))),
    # Syntax
    Planted(
        "single quotes",
        "weather",
        "hermes",
        "J103",
        replace=(('{\\"name\\": \\"get_weather\\", \\"arguments\\"', "{'name': 'get_weather', 'arguments'"),),
    ),
    Planted("trailing comma", "weather", "qwen", "J104", replace=(('celsius\\"}}', 'celsius\\"},}'),)),
    Planted("call not closed", "recipes", "hermes", "F301", replace=(("30}}\\n</tool_call>", "30}}"),)),
    Planted("call cut off", "currency", "qwen", "J102 J101 F301", replace=(('\\"JPY\\"}}\\n</tool_call>', '\\"JP'),)),
    Planted(
        "Python literal",
        "movies",
        "qwen",
        "J105",
        _argued(2, year=None),
        replace=(('Varda\\"}', 'Varda\\", \\"year\\": None}'),),
    ),
    Planted(
        "arguments are no JSON",
        "weather",
        "openai",
        "J101 J119 J118 J126 J103",
        replace=(('"arguments": "{\\"city\\": ', '"arguments": "{city: '),),
    ),
    Planted(
        "another format",
        "weather",
        "hermes",
        "D712 F309 F317",
        replace=(
            ("<tool_call>\\n", "[TOOL_CALLS] ["),
            ("\\n</tool_call>", "]"),
        ),
    ),
    Planted(
        "arguments as text",
        "currency",
        "hermes",
        "J112",
        replace=(
            (
                '\\"arguments\\": {\\"amount\\": 250, \\"from_currency\\": \\"USD\\", \\"to_currency\\": \\"JPY\\"}',
                '\\"arguments\\": \\"{\\\\\\"amount\\\\\\": 250}\\"',
            ),
        ),
    ),
    # Roles and turns
    Planted("last turn empty", "weather", "openai", "T414 D701 D706", _texted(3, "")),
    Planted("last turn empty", "chat", "llama-factory", "T414 D701 D706", _texted(1, "")),
    Planted("last turn missing", "weather", "anthropic", "T414 D706", _without(3)),
    Planted("last turn missing", "movies", "hermes", "T414 D706", _without(4)),
    Planted("last turn is the user's", "currency", "openai", "D706 T414", _inserted(4, _user("And in euros?"))),
    Planted("last turn is the user's", "recipes", "ms-swift", "D706 T414", _inserted(4, _user("Anything vegan?"))),
    Planted("two user turns in a row", "chat", "openai", "D706", _inserted(0, _user("Hello there!"))),
    Planted("two answers in a row", "weather", "hermes", "D706", _inserted(4, _answer("Do you need anything else?"))),
    Planted("answer before result", "refund", "llama-factory", "D706 T403 T404", _swapped(3, 4)),
    Planted("result from nowhere", "chat", "llama-factory", "D706 T403", _inserted(1, _results({"ok": True}))),
    Planted("answer first", "chat", "llama-factory", "D706", _swapped(0, 1)),
    Planted("system prompt in the middle", "refund", "openai", "D706", _swapped(0, 2)),
    Planted("empty question", "weather", "openai", "D701 D706 T412 V904", _texted(0, "")),
    Planted("role misspelt", "weather", "openai", "D701 D706", replace=(('"role": "user"', '"role": "usr"'),)),
    Planted("content missing", "chat", "openai", "D701 T414 D706", row=lambda row: row["messages"][1].pop("content")),
    # Markup
    Planted("control token in answer", "chat", "openai", "D713 F310", _texted(1, "You are welcome!<|im_end|>")),
    Planted("control token in answer", "weather", "llama-factory", "D713 F310", _texted(3, "It is 17 °C.<|eot_id|>")),
    Planted("control token in answer", "movies", "anthropic", "D713 F310", _texted(4, "Cléo from 5 to 7.</s>")),
    Planted("control token in question", "chat", "hermes", "D713 F310", _texted(0, "<|endoftext|>Thanks, bye!")),
    Planted(
        "control token in question",
        "german",
        "openai",
        "D713 F310",
        _texted(0, "[INST] Welche offenen Tickets hat der Kunde K-7731? [/INST]"),
    ),
    Planted(
        "call as text in a structured set",
        "weather",
        "openai",
        "D712 D713 F309 F311 F317 L801",
        _texted(3, 'It is 17 °C. <tool_call>{"name": "get_weather", "arguments": {"city": "Bergen"}}</tool_call>'),
    ),
    Planted(
        "call as text in a structured set",
        "currency",
        "anthropic",
        "D712 D713 F309 F311 F317 L801",
        _texted(
            3,
            '{"name": "convert_currency", "arguments": {"amount": 250, "from_currency": "USD", "to_currency": "JPY"}}',
        ),
    ),
    Planted(
        "result written by the model",
        "weather",
        "hermes",
        "F312 D713",
        _texted(3, '<tool_response>{"temperature": 19}</tool_response>It is 17 °C in Bergen.'),
    ),
    Planted("reasoning not closed", "thinking", "qwen", "F301", replace=(("result.</think>", "result."),)),
    Planted(
        "call inside reasoning",
        "thinking",
        "qwen",
        "F305",
        _reasoned(2, f"I call <tool_call>{json.dumps({'name': 'get_stock_price', 'arguments': {}})}</tool_call> now."),
    ),
    # Claims
    Planted("other number", "weather", "openai", "D710 T413", _texted(3, "It is 24 °C in Bergen with light rain.")),
    Planted("other number", "currency", "hermes", "D710 T413", _texted(3, "250 US dollars are 41,210 yen.")),
    Planted("other name", "movies", "openai", "D710 T413", _texted(4, "In 1962 Agnès Varda made Le Bonheur.")),
    Planted("other name", "flight", "llama-factory", "D710 T413", _texted(5, "I booked flight DY1302 for two people.")),
    Planted(
        "other date",
        "calendar",
        "openai",
        "D710 T413",
        _texted(3, "The design review is in your calendar for 2025-06-13 at 14:00 UTC."),
    ),
    Planted(
        "other date",
        "refund",
        "anthropic",
        "D710 T413",
        _texted(6, "I refunded 89.90 for the helmet that you ordered on January 29, 2025."),
    ),
    Planted(
        "other city",
        "two cities",
        "ms-swift",
        "D710 T413",
        _texted(4, "Lisbon is sunny at 28 °C, while Madrid is cloudy at 21 °C."),
    ),
    Planted(
        "success claimed after an error",
        "clarify",
        "openai",
        "T413",
        replace=(('{\\"status\\": \\"sent\\"}', '{\\"error\\": \\"mailbox not found\\"}'),),
    ),
    Planted("action claimed without a call", "chat", "openai", "V902 T413 D710", _claim_action),
    # Language and reasoning
    Planted(
        "answer in another language",
        "weather",
        "openai",
        "D718",
        _texted(3, "In Bergen sind es gerade 17 °C bei leichtem Regen, und der Wind weht mit 22 km/h."),
    ),
    Planted(
        "answer in another language",
        "german",
        "llama-factory",
        "D718",
        _texted(
            3, "The customer K-7731 currently has two open tickets: T-118 about an invoice and T-131 about the login."
        ),
    ),
    Planted("reasoning missing where demanded", "thinking", "hermes", "R602", _unreasoned_all),
    Planted("reasoning missing in one turn", "thinking", "openai", "R602", _reasoned(4, "")),
    # Definitions, labels and duplicates
    Planted("types that no schema has", "calendar", "openai", "S207 D708", _many_bad_types),
    Planted(
        "required names no property",
        "weather",
        "hermes",
        "S207 D708 S201",
        _defined(lambda definition: definition["parameters"].update(required=["place"])),
    ),
    Planted(
        "tools are no JSON", "weather", "llama-factory", "D708", row=lambda row: row.update(tools=row["tools"][:-3])
    ),
    Planted("wrong label", "weather", "openai", "D703", row=lambda row: row.update(type="no_tool_call")),
    Planted("same conversation twice", "chat", "openai", "D714", before="same"),
    Planted(
        "only the question's words differ",
        "weather",
        "openai",
        "D715 D714",
        _texted(0, _DUPLICATE_QUESTION),
        before="clean",
    ),
)


def planted_conversation(planted: Planted) -> Conversation:
    """The conversation with the fault, as far as it is one of the messages."""
    conversation = copy.deepcopy(CONVERSATIONS[planted.conversation])
    if planted.edit:
        planted.edit(conversation)
    if planted.name == "same call again":  # the model asks again although it has the result
        conversation.messages.insert(4, copy.deepcopy(conversation.messages[2]))
        conversation.messages[5] = copy.deepcopy(conversation.messages[3])
    return conversation


def row_in(shape: str, conversation: Conversation) -> dict[str, Any]:
    """The row in this shape; asserts that nothing needs more than the shape has."""
    return _WRITERS[shape](conversation)


def _openai(conversation: Conversation) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    open_ids: list[str] = []
    for number, message in enumerate(conversation.messages):
        if message["role"] == "tool":
            for index, value in enumerate(message["results"]):
                call_id = open_ids[index] if index < len(open_ids) else f"call_{number}x{index}"
                messages.append({"role": "tool", "tool_call_id": call_id, "content": _json(value)})
        elif message.get("calls"):
            open_ids = [f"call_{number}x{index}" for index in range(len(message["calls"]))]
            made = [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": tool_call["name"], "arguments": _json(tool_call["arguments"])},
                }
                for call_id, tool_call in zip(open_ids, message["calls"], strict=True)
            ]
            messages.append({"role": "assistant", "content": message["text"] or None, "tool_calls": made})
            if message.get("reasoning"):
                messages[-1]["reasoning_content"] = message["reasoning"]
        else:
            messages.append({"role": message["role"], "content": message["text"]})
            if message.get("reasoning"):
                messages[-1]["reasoning_content"] = message["reasoning"]
    return {
        "messages": messages,
        "tools": [{"type": "function", "function": definition} for definition in conversation.tools],
    }


def _hermes_text(message: Message) -> str:
    thought = f"<think>{message['reasoning']}</think>\n" if message.get("reasoning") else ""
    blocks = [f"<tool_call>\n{_json(tool_call)}\n</tool_call>" for tool_call in message["calls"]]
    return thought + "\n".join([message["text"], *blocks] if message["text"] else blocks)


def _hermes(conversation: Conversation) -> dict[str, Any]:
    prompt = "You are a function calling AI model. Call functions with <tool_call></tool_call>.\n"
    prompt += f"<tools>{_json(_functions(conversation.tools))}</tools>"
    turns = []
    for message in conversation.messages:
        match message["role"]:
            case "system":
                prompt = f"{message['text']}\n{prompt}"
            case "user":
                turns.append({"from": "human", "value": message["text"]})
            case "tool":
                texts = [f"<tool_response>\n{_json(value)}\n</tool_response>" for value in message["results"]]
                turns.append({"from": "tool", "value": "\n".join(texts)})
            case _:
                turns.append({"from": "gpt", "value": _hermes_text(message)})
    return {"conversations": [{"from": "system", "value": prompt}, *turns]}


def _qwen(conversation: Conversation) -> dict[str, Any]:
    messages = []
    for message in conversation.messages:
        match message["role"]:
            case "tool":
                messages += [{"role": "tool", "content": _json(value)} for value in message["results"]]
            case "assistant":
                messages.append({"role": "assistant", "content": _hermes_text(message)})
            case role:
                messages.append({"role": role, "content": message["text"]})
    return {"messages": messages, "tools": conversation.tools}


def _llama_factory(conversation: Conversation) -> dict[str, Any]:
    row: dict[str, Any] = {"conversations": [], "tools": _json(conversation.tools)}
    for message in conversation.messages:
        match message["role"]:
            case "system":
                row["system"] = message["text"]
            case "user":
                row["conversations"].append({"from": "human", "value": message["text"]})
            case "tool":
                value = message["results"][0] if len(message["results"]) == 1 else message["results"]
                row["conversations"].append({"from": "observation", "value": _json(value)})
            case _ if message["calls"]:
                value = message["calls"][0] if len(message["calls"]) == 1 else message["calls"]
                row["conversations"].append({"from": "function_call", "value": _thought(message) + _json(value)})
            case _:
                row["conversations"].append({"from": "gpt", "value": _thought(message) + message["text"]})
    return row


def _anthropic(conversation: Conversation) -> dict[str, Any]:
    row: dict[str, Any] = {"messages": []}
    row["tools"] = [
        {"name": item["name"], "description": item["description"], "input_schema": item["parameters"]}
        for item in conversation.tools
    ]
    open_ids: list[str] = []
    for number, message in enumerate(conversation.messages):
        match message["role"]:
            case "system":
                row["system"] = message["text"]
            case "user":
                row["messages"].append({"role": "user", "content": message["text"]})
            case "tool":
                blocks = [
                    {"type": "tool_result", "tool_use_id": call_id, "content": _json(value)}
                    for call_id, value in zip(open_ids, message["results"], strict=False)
                ]
                row["messages"].append({"role": "user", "content": blocks})
            case _:
                open_ids = [f"toolu_{number}x{index}" for index in range(len(message["calls"]))]
                content = [{"type": "text", "text": message["text"]}] if message["text"] else []
                content += [
                    {"type": "tool_use", "id": call_id, "name": item["name"], "input": item["arguments"]}
                    for call_id, item in zip(open_ids, message["calls"], strict=True)
                ]
                if message.get("reasoning"):
                    content.insert(0, {"type": "thinking", "thinking": message["reasoning"]})
                row["messages"].append({"role": "assistant", "content": content})
    return row


def _ms_swift(conversation: Conversation) -> dict[str, Any]:
    messages = []
    for message in conversation.messages:
        match message["role"]:
            case "tool":
                messages += [{"role": "tool_response", "content": _json(value)} for value in message["results"]]
            case "assistant" if message["calls"]:
                if message.get("reasoning"):
                    messages.append({"role": "assistant", "content": _thought(message).rstrip()})
                messages += [{"role": "tool_call", "content": _json(item)} for item in message["calls"]]
            case "assistant":
                messages.append({"role": "assistant", "content": _thought(message) + message["text"]})
            case role:
                messages.append({"role": role, "content": message["text"]})
    return {"messages": messages, "tools": _json(conversation.tools)}


def _toolace(conversation: Conversation) -> dict[str, Any]:
    prompt = (
        "You are an expert in composing functions. Here is a list of functions in JSON format that you can invoke:\n"
    )
    row: dict[str, Any] = {"system": f"{prompt}{_json(conversation.tools)}\n", "conversations": []}
    for message in conversation.messages:
        match message["role"]:
            case "system":
                row["system"] = f"{message['text']}\n{row['system']}"
            case "user":
                row["conversations"].append({"from": "user", "value": message["text"]})
            case "tool":
                row["conversations"].append({"from": "tool", "value": _json(message["results"])})
            case _ if message["calls"]:
                made = [
                    f"{item['name']}({', '.join(f'{key}={value!r}' for key, value in item['arguments'].items())})"
                    for item in message["calls"]
                ]
                row["conversations"].append({"from": "assistant", "value": f"[{', '.join(made)}]"})
            case _:
                row["conversations"].append({"from": "assistant", "value": message["text"]})
    return row


def _glaive(conversation: Conversation) -> dict[str, Any]:
    definitions = "\n".join(json.dumps(item, indent=4, ensure_ascii=False) for item in conversation.tools)
    text = ""
    for message in conversation.messages:
        match message["role"]:
            case "user":
                text += f"USER: {message['text']}\n\n\n"
            case "tool":
                text += "".join(f"FUNCTION RESPONSE: {_json(value)}\n\n\n" for value in message["results"])
            case "assistant" if message["calls"]:
                item = message["calls"][0]
                text += f'ASSISTANT: <functioncall> {{"name": "{item["name"]}", '
                text += f"\"arguments\": '{_json(item['arguments'])}'}} <|endoftext|>\n\n\n"
            case "assistant":
                text += f"ASSISTANT: {message['text']} <|endoftext|>\n\n\n"
    prompt = "SYSTEM: You are a helpful assistant with access to the following functions. Use them if required -\n"
    return {"system": f"{prompt}{definitions}\n", "chat": text}


def _functions(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": definition} for definition in tools]


def _thought(message: Message) -> str:
    return f"<think>{message['reasoning']}</think>\n" if message.get("reasoning") else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_WRITERS: dict[str, Callable[[Conversation], dict[str, Any]]] = {
    "openai": _openai,
    "hermes": _hermes,
    "qwen": _qwen,
    "llama-factory": _llama_factory,
    "anthropic": _anthropic,
    "ms-swift": _ms_swift,
    "toolace": _toolace,
    "glaive": _glaive,
}
