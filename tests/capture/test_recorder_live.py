"""What is known of an answer while its model still speaks, and what one line of an exchange tells in the end."""

from threading import Thread
from typing import Any

import pytest

from tests.capture.recordings import Call, ToldSink, ToldWatch, delta_event, until, user
from weaklink.inspector.capture.events import ChunksArrived, RecordEvent
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.model import SpanKind
from weaklink.inspector.sessions.exchange import ExchangeEnd, RequestHead
from weaklink.inspector.text import Range

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def test_a_fault_of_a_call_in_the_text_is_known_before_the_stream_ends() -> None:
    watch = ToldWatch()
    recorder = Recorder(ToldSink(), watch=watch)
    call = Call(recorder, [user("Weather?")]).answered()
    call.said("Let me see. <tool_", "call>\n{'name': 'get_weather', ", "'arguments': {}}\n</tool", "_call>", " And now")
    until(lambda: watch.has("J103"))
    assert [(span.kind, [named.name for named in calls]) for _, _, span, calls in watch.spans] == [
        (SpanKind.TEXT, []),
        (SpanKind.TOOL_CALL, ["get_weather"]),
    ]
    assert watch.ended == []
    call.done()
    recorder.close()
    assert [facts.faults for facts in watch.ended] == [{"J103": 1, "F307": 1}]


_KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>",
    '{"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>',
)
_GLM = ("<tool_call>get_weather\n<arg_key>city</arg_key>", "<arg_value>Oslo</arg_value>\n</tool_call>")
_MISTRAL = ("[TOOL_CALLS]get_weather[ARGS]", '{"city": "Oslo"}')


@pytest.mark.parametrize("begin", [1, 60])
@pytest.mark.parametrize("pieces", [_KIMI, _GLM, _MISTRAL], ids=["kimi_k2", "glm45", "mistral"])
def test_a_call_of_a_model_that_nobody_knows_is_known_before_the_answer_ends(
    begin: int, pieces: tuple[str, ...]
) -> None:
    watch = ToldWatch()
    recorder = Recorder(ToldSink(), watch=watch)
    answer = Call(recorder, [user("Weather?")], more={"model": "nobody"}).answered()
    answer.said(
        *["I think about it. "] * begin, *pieces, "\n\n", *["That is what I did. "] * 50
    )  # the redactor holds some back
    until(lambda: any(call.name == "get_weather" for _, _, _, calls in watch.spans for call in calls))
    assert watch.ended == []
    answer.done()
    recorder.close()
    kinds = [span.kind for _, _, span, _ in watch.spans]
    assert kinds.count(SpanKind.TOOL_CALL) == 1, watch.spans


def test_arguments_are_checked_against_the_tools_of_the_request_when_the_next_call_begins() -> None:
    watch = ToldWatch()
    recorder = Recorder(ToldSink(), watch=watch)
    call = Call(recorder, [user("Weather?")], more={"tools": [TOOL]}).answered()
    first = {"index": 0, "id": "a", "function": {"name": "get_weather", "arguments": ""}}
    second = {"index": 1, "id": "b", "function": {"name": "get_weather", "arguments": '{"city'}}
    call.sent(delta_event({"tool_calls": [first]}))
    call.sent(delta_event({"tool_calls": [{"index": 0, "function": {"arguments": '{"city": 5}'}}]}))
    call.sent(delta_event({"tool_calls": [second]}))
    until(lambda: watch.has("S202"))
    assert watch.codes == ["S202"]
    call.done("tool_calls")
    recorder.close()
    assert watch.codes[1:] == ["J102"]  # what a cut call lacks may have been about to come
    assert [part for _, part, _, _ in watch.spans] == ["call:0", "call:1"]


def test_arguments_that_go_on_after_the_next_call_has_begun_are_read_when_they_are_whole() -> None:
    watch = ToldWatch()
    recorder = Recorder(ToldSink(), watch=watch)
    call = Call(recorder, [user("Weather?")], more={"tools": [TOOL]}).answered()
    for index, name, piece in (
        (0, "get_weather", '{"ci'),
        (1, "get_weather", '{"city": "Oslo"'),
        (0, None, 'ty": "Rome"}'),
        (1, None, "}"),
    ):
        named = {"index": index, "id": f"{index}", "function": {"name": name, "arguments": piece}}
        call.sent(delta_event({"tool_calls": [named]}))
    call.done("tool_calls")
    recorder.close()
    assert watch.codes == []
    assert [calls[0].arguments for _, _, _, calls in watch.spans] == [{"city": "Rome"}, {"city": "Oslo"}]


def test_calls_in_the_text_are_checked_against_the_tools_that_the_system_prompt_defines() -> None:
    watch = ToldWatch()
    recorder = Recorder(ToldSink(), watch=watch)
    tools = '<tools>\n{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", '
    tools += '"properties": {"city": {"type": "string"}}, "required": ["city"]}}}\n</tools>'
    call = Call(recorder, [{"role": "system", "content": tools}, user("Weather?")]).answered()
    call.said('<tool_call>\n{"name": "get_weather", "arguments": {"town": "Oslo"}}\n</tool_call>')
    until(lambda: watch.has("S201"))
    call.done()
    recorder.close()


def test_the_format_of_a_model_without_a_known_name_is_told_from_its_first_words() -> None:
    watch = ToldWatch()
    recorder = Recorder(ToldSink(), watch=watch)
    call = Call(recorder, [user("Weather?")], more={"model": "mine"}).answered()
    call.said("<|python", "_tag|>{'name': 'get_weather', ", "'parameters': {}}<|eom_id|>")
    until(lambda: bool(watch.faults))
    call.done()
    recorder.close()
    assert [calls[0].name for _, _, _, calls in watch.spans if calls] == ["get_weather"]


@pytest.mark.parametrize(
    ("more", "finish", "faults"),
    [
        ({"stop": ["</function"]}, "stop", {}),
        ({"stop": "</function>"}, "stop", {}),
        ({"stop": ["</function"]}, "length", {"F301": 1, "J129": 1}),
        ({"stop": ["\nUser:"]}, "stop", {"F301": 1, "J129": 1}),
        ({"stop": ["</function"], "tools": [TOOL]}, "stop", {"F315": 1}),
    ],
    ids=["a stop word", "the whole marker", "a cut answer", "another stop word", "tools in the request"],
)
def test_a_closing_marker_that_is_a_stop_word_lacks_nowhere(
    more: dict[str, Any], finish: str, faults: dict[str, int]
) -> None:
    watch = ToldWatch()
    recorder = Recorder(ToldSink(), watch=watch)
    call = Call(recorder, [user("Weather?")], more={"model": "qwen3-coder", **more}).answered()
    call.said("<function=get_weather>\n<parameter=", "city>\nOslo\n</parameter>\n").done(finish)
    recorder.close()
    (ended,) = watch.ended
    assert {code: count for code, count in ended.faults.items() if code != "C503"} == faults
    ((_, _, span, calls),) = [told for told in watch.spans if told[3]]
    assert (calls[0].name, calls[0].arguments) == ("get_weather", {"city": "Oslo"})
    assert span.range == Range(0, len("<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n"))


def test_chunks_arrive_while_the_stream_runs_with_the_time_since_their_request() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    call = Call(recorder, [user("Hi")]).answered().said("Go", "od", offset_s=1.5)
    until(lambda: any(isinstance(event, ChunksArrived) for event in sink.events))
    ((chunks,),) = ([event.chunks for event in sink.events if isinstance(event, ChunksArrived)],)
    assert [(chunk.sequence, chunk.part, chunk.text, chunk.offset_s) for chunk in chunks] == [
        (0, "text", "Go", 1.5),
        (1, "text", "od", 1.5),
    ]
    call.done()
    recorder.close()
    sink.close()


def test_an_exchange_is_told_in_one_line_of_facts() -> None:
    watch = ToldWatch()
    recorder = Recorder(ToldSink(), watch=watch)
    call = Call(recorder, [user("Hi")]).answered().said("Good", " day", offset_s=1.5)
    call.sent(b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 7}}\n\n')
    call.done()
    recorder.close()
    (facts,) = watch.ended
    assert (facts.method, facts.target, facts.model) == ("POST", "/v1/chat/completions", "hermes-4")
    assert (facts.status, facts.end, facts.turn) == (200, ExchangeEnd.COMPLETE, 2)
    assert (facts.first_token_s, facts.duration_s) == (1.5, 2.0)
    assert (facts.output_tokens, facts.chunks, dict(facts.faults)) == (7, 2, {})


def test_two_answers_of_one_trace_run_at_once() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    first = Call(recorder, [user("Hi")], headers=(("X-Session-Id", "s"),)).answered()
    again = (("X-Session-Id", "s"), ("X-Stainless-Retry-Count", "1"))
    second = Call(recorder, [user("Hi")], headers=again).answered()
    first.said("one")
    second.said("two")
    second.done()
    first.said("!")
    first.done()
    recorder.close()
    sink.close()
    (trace,) = sink.recorded()
    assert [turn.parts[0].text for turn in trace.turns] == ["Hi", "one!", "two"]


def test_the_history_of_a_conversation_is_told_once() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    messages = [user("0")]
    for number in range(50):
        call = Call(recorder, messages).answered().said(f"answer {number}")
        call.done()
        messages += [{"role": "assistant", "content": f"answer {number}"}, user(f"{number + 1}")]
    recorder.close()
    (trace,) = sink.recorded()
    assert len(trace.turns) == 100
    assert len(sink.events) < 400


def test_a_request_that_asks_no_model_is_counted_and_not_recorded() -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    models = recorder.began(RequestHead("GET", "/v1/models"))
    models.answer_began(200, (), None)
    models.answer_arrived(b"{}", None)
    models.ended(ExchangeEnd.COMPLETE, None)
    for path in ("/v1/messages/count_tokens?beta=true", "/v1/embeddings", "/tokenize", "/m:countTokens"):
        Call(recorder, [user("Hi")], path=path).answered(kind="application/json").sent(b'{"input_tokens": 3}').ended(
            ExchangeEnd.COMPLETE
        )
    recorder.close()
    assert sink.events == []
    assert recorder.unrecorded_exchanges == 5
    assert [(facts.key, facts.status) for facts in watch.ended] == [("", 200)] * 5


def test_a_trace_ends_when_nothing_happens_to_it_for_long() -> None:
    sink = ToldSink()
    recorder = Recorder(sink, idle_s=0.2)
    Call(recorder, [user("Hi")]).answered().said("Good day").done()
    until(lambda: bool(sink.ended))
    recorder.close()
    sink.close()
    (trace,) = sink.recorded()
    assert trace.turns[-1].parts[0].text == "Good day"


def test_many_threads_lose_no_chunk() -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)

    def speak(number: int) -> None:
        for turn in range(5):
            call = Call(recorder, [user(f"{turn}")], client=f"{number}").answered()
            for word in range(500):
                call.said(f"{number}.{turn}.{word} ")
            call.done()

    threads = [Thread(target=speak, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    sink.close()
    said = sorted(trace.turns[-1].parts[0].text for trace in sink.recorded())
    assert said == sorted("".join(f"{n}.{t}.{w} " for w in range(500)) for n in range(8) for t in range(5))
    assert (recorder.dropped_bytes, sum(facts.chunks for facts in watch.ended)) == (0, 8 * 5 * 500)


def test_no_chunk_is_lost_that_comes_while_the_recorder_reads_another_answer() -> None:
    later: list[Call] = []

    class Interleaved(ToldSink):
        def accept(self, event: RecordEvent) -> None:
            ToldSink.accept(self, event)
            if isinstance(event, ChunksArrived) and later:  # what another thread may do at just this moment
                later[0].answered().said("first ").said("second ")
                later.clear()

    sink = Interleaved()
    recorder = Recorder(sink)
    first_call, two = (Call(recorder, [user(word)], client=word) for word in ("one", "two"))
    until(lambda: len(sink.open) == 2)
    later.append(two)
    first_call.answered().said("a word")
    until(lambda: not later)
    two.said("third")
    two.done()
    first_call.done()
    recorder.close()
    sink.close()
    assert [trace.turns[-1].parts[0].text for trace in sink.recorded()] == ["a word", "first second third"]


def test_what_comes_after_a_pause_wakes_the_recorder_each_time() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    call = Call(recorder, [user("Hi")]).answered()
    for count in range(1, 12):
        call.said("word ")
        until(lambda: sum(map(len, sink.chunks.values())) == count)  # noqa: B023  # it is called at once
    call.done()
    recorder.close()
    sink.close()
    (trace,) = sink.recorded()
    assert trace.turns[-1].parts[0].text == "word " * 11
