"""The break, what the agent made of it, and the status of the trace."""

import pytest

from tests.chain.building import chain_of
from weaklink.inspector.chain.steps import Break, Chain
from weaklink.inspector.model import ErrorPhase, FinishReason, Generation, GenerationError, Outcome

CALL, ERROR = 'call: get_weather {"city": "Oslo"}', "result: Error: timeout"


def broken(chain: Chain) -> Break:
    assert chain.broken is not None
    assert chain.status == "broken"
    return chain.broken


def test_the_break_is_the_first_failed_step_that_nothing_made_good() -> None:
    good = (CALL, ERROR, CALL, "result: 4 degrees")
    lost = ('call: get_tide {"harbour": "Bergen"}', "result: Error: closed", "say: I could not get the tide.")
    assert broken(chain_of(*good, *lost)).step == 3


def test_the_break_prefers_the_more_certain() -> None:
    lines = (CALL, "result: Invalid city", 'call: book {"seat": "12A"}', 'result: {"error": "no"}', "say: Sorry.")
    assert broken(chain_of(*lines)).step == 2
    assert broken(chain_of(*lines[:2], "call: book {'seat'", "say: Sorry.")).step == 2
    assert broken(chain_of(*lines[:2], "say: Sorry.")).step == 1


@pytest.mark.parametrize(
    ("after", "reaction"),
    [
        (("say: I could not get the weather.",), "reported"),
        (("say: Unfortunately the service is down.",), "reported"),
        (("say: Oslo is nice.",), "ignored"),
        (("say: Oslo has 24 degrees.",), "concealed"),
        (('call: pay {"payment": "pay_83120"}', "result: paid", "say: Oslo is paid."), "concealed"),
        (('call: pay {"payment": "all"}', "result: paid", "say: Oslo is paid."), "ignored"),
        ((), None),
        ((CALL, ERROR), None),
        (("say: Once more.", CALL, ERROR), None),
        ((CALL, ERROR, "say: Oslo is nice."), "ignored"),
        ((CALL, ERROR, "say: The service is down."), "reported"),
        (("say: I fixed the problem, Oslo is nice.",), "ignored"),
        (('call: finish {"message": "I could not get the weather."}',), "reported"),
        (('call: finish {"message": "Oslo is nice."}',), "ignored"),
        (("say: Oslo is nice. Tell me if you have any trouble.",), "ignored"),
        (("say: Scroll down for more of Oslo.",), "ignored"),
        (("say: Das Wetter konnte ich leider nicht abrufen.",), "reported"),
        (("say: Oslo ist schön.",), "ignored"),
        (("say: Je n’ai pas pu obtenir la météo.",), "reported"),
        (("say: Oslo est belle.",), "ignored"),
        (("say: No pude obtener el tiempo.",), "reported"),
        (("say: No olvide el paraguas.",), "ignored"),
        (("say: Não foi possível obter o tempo.",), "reported"),
        (("say: Oslo é bonita.",), "ignored"),
        (("say: Мне не удалось узнать погоду.",), "reported"),
        (("say: Осло прекрасен.",), "ignored"),
        (("say: 抱歉，我无法查询天气。",), "reported"),
        (("say: 奥斯陆很美。",), "ignored"),
        (("say: 天気を取得できませんでした。",), "reported"),
        (("say: オスロは美しいです。",), "ignored"),
    ],
)
def test_the_reaction(after: tuple[str, ...], reaction: str | None) -> None:
    assert broken(chain_of("user: Weather in Oslo?", CALL, ERROR, *after)).reaction == reaction


def test_a_number_that_stood_in_the_question_is_not_invented() -> None:
    assert broken(chain_of("user: Is it over 24 in Oslo?", CALL, ERROR, "say: Oslo: 24.")).reaction == "ignored"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((CALL, ERROR, "say: x"), "`get_weather` answered with an error (`Error: timeout`), and no later call did its"),
        ((CALL, ERROR, CALL, ERROR, CALL, ERROR), "the same call was repeated 2 times without success"),
        ((CALL, "say: Oslo"), "`get_weather` never got a result, and the conversation continued without it."),
        (("call: f {'a': 1}",), "The call of `f` is not valid as written (single-quoted-json): `'a'`"),
        (("call: f ]{",), "The call of `f` could not be read (malformed-json): "),
        ((CALL, "result: <error>Error: no</error>", "say: x"), "with an error (`Error: no`), and"),
        ((CALL, ERROR, "say: Oslo has 24 degrees."), "; the agent continued with `24`, which was not found earlier."),
    ],
)
def test_one_sentence_says_it(lines: tuple[str, ...], said: str) -> None:
    message = broken(chain_of(*lines)).message
    assert said in message
    assert message.endswith(".")


def test_a_call_that_the_end_cut_through_says_so() -> None:
    cut = Generation(finish=FinishReason.LENGTH)
    assert "the output limit was reached in the middle of it" in broken(chain_of('call: f {"a": "b', last=cut)).message


ABORTS = [
    (Generation(finish=FinishReason.LENGTH), None, "length"),
    (Generation(finish=FinishReason.FILTER), None, "filter"),
    (Generation(error=GenerationError(ErrorPhase.TRANSPORT, "x")), None, "connection"),
    (Generation(error=GenerationError(ErrorPhase.IN_STREAM, "x")), None, "upstream"),
    (Generation(error=GenerationError(ErrorPhase.CLIENT_ABORT, "x")), None, "client"),
    (None, Outcome(exit_status="max_steps"), "limit"),
    (None, Outcome(exit_status="exit_cost"), "limit"),
    (None, Outcome(exit_status="LimitsExceeded"), "limit"),
    (None, Outcome(exit_status="exit_context"), "length"),
]


@pytest.mark.parametrize(
    ("call", "phase", "status"),
    [
        ('call: book {"seat', ErrorPhase.CLIENT_ABORT, "aborted"),
        ('call: book {"seat', ErrorPhase.TRANSPORT, "broken"),
        ("call: book {'seat': 4}", ErrorPhase.CLIENT_ABORT, "broken"),  # the client may leave since it cannot read it
    ],
)
def test_a_call_that_the_client_cut_off_is_no_break(call: str, phase: ErrorPhase, status: str) -> None:
    cut = Generation(error=GenerationError(phase, "x"))
    assert chain_of(CALL, "result: 4", call, last=cut).status == status


@pytest.mark.parametrize(("last", "outcome", "reason"), ABORTS)
def test_aborted_with_a_reason(last: Generation | None, outcome: Outcome | None, reason: str) -> None:
    chain = chain_of(CALL, "result: 4", "say: It is", last=last, outcome=outcome)
    assert (chain.status, chain.abort_reason) == ("aborted", reason)


@pytest.mark.parametrize(("last", "outcome", "reason"), ABORTS)
def test_a_break_before_the_cut_comes_first(last: Generation | None, outcome: Outcome | None, reason: str) -> None:
    assert chain_of(CALL, ERROR, "say: Oslo is", last=last, outcome=outcome).status == "broken", reason


def test_recovered_and_ok() -> None:
    assert chain_of(CALL, ERROR, CALL, "result: 4", "say: 4.").status == "recovered"
    assert chain_of(CALL, "result: 4", "say: 4.").status == "ok"
    assert chain_of("user: Hello", "say: Hello!", outcome=Outcome(exit_status="submitted")).status == "ok"
