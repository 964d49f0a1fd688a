"""What the broken step caused downstream."""

import pytest

from tests.chain.building import chain_of

FAILED = ('call: find {"name": "Ada"}', "result: Error: no such name, see ticket T-4711")
LAST = "say: I could not find Ada."


@pytest.mark.parametrize(
    ("after", "caused"),
    [
        ((), ()),
        (('call: open {"ticket": "T-4711"}', "result: it is closed"), (2,)),
        (
            (
                'call: open {"ticket": "T-4711"}',
                "result: closed by user u_9120",
                'call: ping {"host": "db"}',
                "result: 1",
                'call: mail {"to": "u_9120"}',
                "result: sent",
            ),
            (2, 4),
        ),
        (('call: ping {"name": "Bob"}', "result: pong"), ()),
    ],
)
def test_the_steps_that_used_what_it_returned_by_way_of_others_too(after: tuple[str, ...], caused: object) -> None:
    chain = chain_of("user: Who is Ada?", *FAILED, *after, LAST)
    assert chain.broken is not None
    assert chain.broken.step == 1
    assert chain.caused == caused


def test_the_steps_that_hang_on_a_value_made_up_in_its_place() -> None:
    pay = ('call: pay {"payment": "pay_83120"}', "result: receipt rc_5521")
    mail = ('call: mail {"receipt": "rc_5521"}', "result: sent", 'call: note {"payment": "pay_83120"}', "result: ok")
    chain = chain_of("user: Pay Ada.", *FAILED, *pay, *mail, "say: Done.")
    assert chain.broken is not None
    assert chain.broken.reaction == "concealed"
    assert chain.caused == (2, 3, 4)


def test_the_same_call_once_more_is_not_caused_but_what_follows_from_it_is() -> None:
    again = (FAILED[0], "result: Error: no such name, see ticket T-9981")
    chain = chain_of("user: Who is Ada?", *FAILED, *again, 'call: open {"ticket": "T-9981"}', "result: closed", LAST)
    assert chain.caused == (3,)


def test_nothing_is_caused_where_nothing_broke() -> None:
    chain = chain_of(
        "user: Who?", 'call: find {"n": 1}', "result: id x_4711", 'call: open {"id": "x_4711"}', "result: y"
    )
    assert (chain.broken, chain.caused) == (None, ())
    assert chain.steps[1].depends_on == (1,)
