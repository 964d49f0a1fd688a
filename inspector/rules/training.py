"""D7xx: samples of training data."""

from weaklink.inspector.rules.rule import DATA_FORMAT, Rule, Severity

_TOOL = (
    '{"name": "get_weather", "description": "Weather of a city.", "parameters": {"type": "object", "properties": '
    '{"city": {"type": "string"}}, "required": ["city"]}}'
)
_USER = '{"role": "user", "content": "Weather in Oslo?"}'
_CALL = (
    '{"role": "assistant", "content": "<tool_call>\\n{\\"name\\": \\"get_weather\\", \\"arguments\\": '
    '{\\"city\\": \\"Oslo\\"}}\\n</tool_call>"}'
)
_RESULT = '{"role": "tool", "content": "{\\"celsius\\": 18}"}'
_ANSWER = '{"role": "assistant", "content": "It is 18 degrees in Oslo."}'
_ALONE = '{"role": "assistant", "content": "I cannot look that up."}'


def _row(*messages: str, before: str = "", after: str = "", tools: str | None = f"[{_TOOL}]") -> str:
    """One line of JSON lines: members before and after the messages, and the tools."""
    offered = "" if tools is None else f', "tools": {tools}'
    return f'{{{before}"messages": [{", ".join(messages)}]{offered}{after}}}'


_SINGLE = '"type": "single_tool_call", '
_MULTI = '"type": "multi_step_tool_call", '
_WHOLE = (_USER, _CALL, _RESULT, _ANSWER)


def _recovery(mark: str) -> str:
    """A sample of error recovery; `mark` are further members of the message with the faulty call."""
    faulty = _CALL.replace('\\"city\\": \\"Oslo\\"', '\\"city\\": 5')[:-1] + mark + "}"
    refusal = '{"role": "tool", "content": "{\\"error\\": \\"city must be a string\\"}"}'
    return _row(_USER, faulty, refusal, *_WHOLE[1:], before='"type": "error_recovery", ')


MISSING_FIELD = Rule(
    "D701",
    "missing-field",
    Severity.ERROR,
    "A sample lacks a required member: its conversation, a role, a content, a tool's name.",
    "A training framework stops at such a row, or drops it silently. Required: the conversation; in each message its "
    "role and a content or calls; in each call its name. A row with `tool_call_count`, `quality_score`, `verified` or "
    "`annotation` needs a `type`, and the type `no_tool_call` needs `annotation.should_call_tool`.",
    "Add what is missing, or remove the row.",
    bad=_row('{"content": "Weather in Oslo?"}', _ALONE),
    good=_row(_USER, _ALONE),
    format=DATA_FORMAT,
)
UNKNOWN_TYPE = Rule(
    "D702",
    "unknown-type",
    Severity.WARNING,
    "The `type` of a sample is unknown.",
    "The known types are `single_tool_call`, `multi_step_tool_call`, `parallel_tool_calls`, `no_tool_call` and "
    "`error_recovery`. Sampling by type omits such a sample, and its label cannot be compared with its calls.",
    "Write one of the known types. If the column means something else, ignore this rule.",
    bad=_row(*_WHOLE, before='"type": "single-tool-call", '),
    good=_row(*_WHOLE, before=_SINGLE),
    format=DATA_FORMAT,
)
LABEL_MISMATCH = Rule(
    "D703",
    "label-mismatch",
    Severity.ERROR,
    "The label of a sample does not match its calls.",
    "The types: `single_tool_call` means one turn with calls, `multi_step_tool_call` two or more, "
    "`parallel_tool_calls` a turn with two or more calls, `no_tool_call` none, `error_recovery` a call that fails. "
    "`annotation.should_call_tool` states whether there is a call. A wrong label distorts the share of samples "
    "without a call, and a model that is trained on it calls tools when it should not.",
    "Correct the label, or the conversation.",
    bad=_row(*_WHOLE, before=_MULTI),
    good=_row(*_WHOLE, before=_SINGLE),
    format=DATA_FORMAT,
)
CALL_COUNT_MISMATCH = Rule(
    "D704",
    "call-count-mismatch",
    Severity.WARNING,
    "`tool_call_count` is not the number of calls in the sample.",
    "Each call in a turn is counted, including failed ones. Datasets are balanced by this number.",
    "Write the number of calls.",
    bad=_row(*_WHOLE, before=_SINGLE, after=', "tool_call_count": 2'),
    good=_row(*_WHOLE, before=_SINGLE, after=', "tool_call_count": 1'),
    format=DATA_FORMAT,
)
SCORE_OUT_OF_RANGE = Rule(
    "D705",
    "score-out-of-range",
    Severity.WARNING,
    "A quality score is not a number from 0 to 1.",
    "A filter such as `quality_score >= 0.9` keeps a 95 that was meant as 0.95, and fails on a string. The rule "
    "checks `quality_score` and the dimensions of a score: completeness, accuracy, type_precision, no_hallucination, "
    "overall.",
    "Write the score as a number from 0 to 1.",
    bad=_row(*_WHOLE, before=_SINGLE, after=', "quality_score": 95'),
    good=_row(*_WHOLE, before=_SINGLE, after=', "quality_score": 0.95'),
    format=DATA_FORMAT,
)
ROLE_ORDER = Rule(
    "D706",
    "role-order",
    Severity.ERROR,
    "The messages are in an order that is not a conversation, or that the chat template rejects.",
    "A result needs a call before it. Templates of Mistral and Gemma models, and LLaMA-Factory's rows with "
    "`function_call` and `observation`, require user and assistant to alternate: two assistants in a row stop the "
    "training, or the row is dropped.",
    "Correct the order of the messages; join two messages of the same role.",
    bad=_row(_USER, _RESULT, _ANSWER),
    good=_row(*_WHOLE),
    format=DATA_FORMAT,
)
TOOLS_NOT_DECLARED = Rule(
    "D707",
    "tools-not-declared",
    Severity.ERROR,
    "A sample calls a tool that it does not offer.",
    "A model that learns from it invents tools. If a sample has no list of tools at all, the severity is info: the "
    "arguments of its calls cannot be checked.",
    "Add the tool's definition to the sample, or correct the name of the call.",
    bad=_row(*_WHOLE, tools="[" + _TOOL.replace("get_weather", "get_tides") + "]"),
    good=_row(*_WHOLE),
    format=DATA_FORMAT,
)
TOOLS_UNREADABLE = Rule(
    "D708",
    "tools-unreadable",
    Severity.ERROR,
    "The list of tools that a sample offers cannot be read.",
    "This is the most frequent reason why training frameworks stop: the list is a string that is not JSON (a Python "
    "literal, a truncated list), or a tool in it has no name.",
    "Write the list as JSON. `json.dumps` writes it, `str` does not.",
    bad=_row(*_WHOLE, tools="\"[{'name': 'get_weather'}]\""),
    good=_row(*_WHOLE),
    format=DATA_FORMAT,
)
PLACEHOLDER_LEFT = Rule(
    "D709",
    "placeholder-left",
    Severity.ERROR,
    "A placeholder was left in place of a value.",
    "`<previous_result>` or `{{city}}` in a call teaches a model to write placeholders instead of values: in "
    "production nothing fills them in.",
    "Write the value that the placeholder represents, from the result of the earlier call.",
    bad=_row(_USER, _CALL.replace("Oslo", "<previous_result>"), _RESULT, _ANSWER),
    good=_row(*_WHOLE),
    format=DATA_FORMAT,
)
ANSWER_WITHOUT_EVIDENCE = Rule(
    "D710",
    "answer-without-evidence",
    Severity.INFO,
    "The final answer states a number or name that does not appear earlier.",
    "A model that learns from it invents facts after a tool answered. Evidence includes every result, the user and "
    "system messages, and the arguments of calls. Rounding, separators, date formats, percent, counts, sums and "
    "differences count as evidence. The rule checks only answers after a result. It is an info, because general "
    "knowledge has no evidence either, and neither has a value that the answer converts or computes in several steps. "
    "Read those first whose message names the value of the result that the answer replaces.",
    "Correct the answer, or the result that it should be based on.",
    bad=_row(_USER, _CALL, _RESULT, _ANSWER.replace("18", "23.5")),
    good=_row(*_WHOLE),
    format=DATA_FORMAT,
)
ANNOTATION_MISMATCH = Rule(
    "D711",
    "annotation-mismatch",
    Severity.WARNING,
    "An annotation contradicts the data flow of the conversation.",
    "The rule compares `steps` with `depends_on` and `data_flow`, `critical_path`, and `decision_points` with "
    "`after_step`. A step that depends on another uses a value that the other's result contains.",
    "Correct the annotation; `weaklink data annotate` writes what was found.",
    bad=_row(*_WHOLE, after=', "steps": [{"step_id": 1, "tool": "get_weather", "depends_on": [2]}]'),
    good=_row(*_WHOLE, after=', "steps": [{"step_id": 1, "tool": "get_weather"}]'),
    format=DATA_FORMAT,
)
TEMPLATE_MISMATCH = Rule(
    "D712",
    "template-mismatch",
    Severity.ERROR,
    "A sample writes calls in a different format than its dataset, or mixes formats.",
    "The format of a dataset is the one that most samples use, unless `--format` names one or the row has a member "
    "`format`. A model that learns several formats for one template mixes them in production, and the server's parser "
    "reads only one.",
    "Rewrite the sample with `weaklink data convert`.",
    bad=_row(
        _USER,
        '{"role": "assistant", "content": "[TOOL_CALLS] [{\\"name\\": \\"get_weather\\", '
        '\\"arguments\\": {\\"city\\": \\"Oslo\\"}}]"}',
        before='"format": "hermes", ',
    ),
    good=_row(_USER, _CALL, before='"format": "hermes", '),
    format=DATA_FORMAT,
)
TEMPLATE_UNSAFE = Rule(
    "D713",
    "template-unsafe",
    Severity.ERROR,
    "A message contains text that a chat template reads as markup.",
    "Tokenizers turn `<|im_end|>` and similar text into control tokens at any position: the message ends there, and "
    "what follows becomes a separate turn, or is trained as the model's output.",
    "Split the marker, or remove the sample.",
    bad=_row('{"role": "user", "content": "What does <|im_end|> mean?"}', _ALONE),
    good=_row('{"role": "user", "content": "What does im_end mean?"}', _ALONE),
    format=DATA_FORMAT,
)
DUPLICATE_SAMPLE = Rule(
    "D714",
    "duplicate-sample",
    Severity.WARNING,
    "A conversation is in the dataset twice.",
    "Duplicates weigh more than others in training, and make a held-out split easier than it is. Case and white space "
    "are ignored. Only `weaklink data lint` looks for duplicates, since all samples must be compared.",
    "Keep one of them.",
    bad=_row(_USER, _ALONE) + "\n" + _row(_USER, _ALONE, before='"id": 2, '),
    good=_row(_USER, _ALONE) + "\n" + _row(_USER.replace("Oslo", "Bodø tomorrow"), _ALONE),
    format=DATA_FORMAT,
)
NEAR_DUPLICATE_SAMPLE = Rule(
    "D715",
    "near-duplicate-sample",
    Severity.INFO,
    "A conversation differs from an earlier one in only a few words.",
    "Samples made from one template with different values teach the template, not the task. The rule compares the "
    "words of the conversation without its system turn, three at a time; it estimates the similarity with MinHash. "
    "Only `weaklink data lint` looks for them.",
    "Keep one, or make them more different.",
    bad=_row(
        '{"role": "user", "content": "Please write a short and friendly note to all the people who came to the '
        'meeting of the chess club on Friday evening."}',
        '{"role": "assistant", "content": "Dear friends of the chess '
        'club, thank you very much for coming to our meeting on Friday; it was a great pleasure to see you all."}',
    )
    + "\n"
    + _row(
        '{"role": "user", "content": "Please write a short and friendly note to all the people who came to the '
        'meeting of the chess club on Friday evening!"}',
        '{"role": "assistant", "content": "Dear friends of the chess '
        'club, thank you very much for coming to our meeting on Friday; it was a great pleasure to see you both."}',
    ),
    good=_row(_USER, _ALONE)
    + "\n"
    + _row(
        '{"role": "user", "content": "Name three chess openings."}',
        '{"role": "assistant", "content": "Italian, Spanish and French."}',
    ),
    format=DATA_FORMAT,
)
LEAKED_SAMPLE = Rule(
    "D716",
    "leaked-sample",
    Severity.ERROR,
    "The user messages of a sample are also in the evaluation set.",
    "An evaluation on questions that the model was trained on measures memory. The rule compares all user messages, "
    "ignoring case and punctuation, with the files of `--eval`.",
    "Remove the sample from the training set.",
    bad=_row(_USER, _ALONE) + "\n@eval\n" + _row(_USER, _ALONE),
    good=_row(_USER, _ALONE) + "\n@eval\n" + _row(_USER.replace("Oslo", "Bergen"), _ALONE),
    format=DATA_FORMAT,
)
CUT_BY_BUDGET = Rule(
    "D717",
    "cut-by-budget",
    Severity.WARNING,
    "A sample is longer than the context, or its reasoning longer than the budget.",
    "Training truncates it: the model does not learn the end, which contains the answer, and learns to continue "
    "without one. The context is 131,072 tokens unless `--context` sets it, the budget for one turn's reasoning is "
    "30,000. Tokens are counted with the `tokenizer.json` of `--tokenizer`; this rule does not run without it.",
    "Shorten results and reasoning, or remove the sample.",
    bad=_row(_USER, _ALONE, tools=None) + "\n@context 6",
    good=_row(_USER, _ALONE, tools=None) + "\n@context 60",
    format=DATA_FORMAT,
)
LANGUAGE_MISMATCH = Rule(
    "D718",
    "language-mismatch",
    Severity.WARNING,
    "The answer is in a different language than the user's messages, and nothing requested it.",
    "Translated datasets often leave one side untranslated. A model that learns from it answers in a language that "
    "its user cannot read. The rule ignores short texts, code, and conversations that name a language.",
    "Translate the answer, or remove the sample.",
    bad=_row(
        '{"role": "user", "content": "Wie wird das Wetter am Wochenende an der Küste, und brauche ich einen '
        'Regenschirm oder eine warme Jacke?"}',
        '{"role": "assistant", "content": "It will be sunny for most of the weekend, '
        'so you do not need an umbrella, but take a warm jacket for the evening."}',
    ),
    good=_row(
        '{"role": "user", "content": "Wie wird das Wetter am Wochenende an der Küste, und brauche ich einen '
        'Regenschirm oder eine warme Jacke?"}',
        '{"role": "assistant", "content": "Am Wochenende scheint meistens die Sonne, '
        'ein Regenschirm ist nicht nötig, aber nimm für den Abend eine warme Jacke mit."}',
    ),
    format=DATA_FORMAT,
)

TRAINED_FAULT = Rule(
    "D719",
    "trained-fault",
    Severity.WARNING,
    "A call that fails on purpose is still a training target.",
    "A sample of error recovery should teach the correction. A trainer computes its loss over every assistant message, "
    "so it teaches the faulty call just as well, unless that message has the trainer's mark. A call that is repeated "
    "unchanged, as after a timeout, is right and may be learned.",
    "Mark the message: `weight: 0` (OpenAI, Mistral), `train: false` (Axolotl), `loss_weight: 0` (LLaMA-Factory v1) or "
    "`loss: false` (ms-swift). `weaklink data inject --trainer NAME` writes the mark.",
    bad=_recovery(""),
    good=_recovery(', "weight": 0'),
    format=DATA_FORMAT,
)

DAMAGED_TEXT = Rule(
    "D720",
    "damaged-text",
    Severity.WARNING,
    "An answer or an argument was damaged when the dataset was made.",
    "The last answer ends within a sentence, an answer says the same sentences again and again, or a text has "
    "characters that were decoded with the wrong encoding, escapes of HTML, or a value that a program did not fill in "
    "(`None`, `NaN`). A model learns to write the same.",
    "Write the text as it should be, or remove the sample.",
    bad=_row(_USER, _CALL, _RESULT, _ANSWER.replace("18 degrees", "None degrees")),
    good=_row(*_WHOLE),
    format=DATA_FORMAT,
)

RULES = (
    MISSING_FIELD,
    UNKNOWN_TYPE,
    LABEL_MISMATCH,
    CALL_COUNT_MISMATCH,
    SCORE_OUT_OF_RANGE,
    ROLE_ORDER,
    TOOLS_NOT_DECLARED,
    TOOLS_UNREADABLE,
    PLACEHOLDER_LEFT,
    ANSWER_WITHOUT_EVIDENCE,
    ANNOTATION_MISMATCH,
    TEMPLATE_MISMATCH,
    TEMPLATE_UNSAFE,
    DUPLICATE_SAMPLE,
    NEAR_DUPLICATE_SAMPLE,
    LEAKED_SAMPLE,
    CUT_BY_BUDGET,
    LANGUAGE_MISMATCH,
    TRAINED_FAULT,
    DAMAGED_TEXT,
)
