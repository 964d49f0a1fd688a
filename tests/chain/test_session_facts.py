"""What a session says about its calls: read from enough of each text."""

from tests.chain.building import chain_of, trace_of
from weaklink.inspector.chain.session_facts import SessionFacts


def test_the_first_4000_characters_of_a_good_result_are_known() -> None:
    lines = (
        "user: Look.",
        'call a: read {"path": "a.txt"}',
        f"result a: {'. ' * 1_500}the harbour{'. ' * 1_000}the quay",
    )
    facts = SessionFacts(trace_of(*lines), chain_of(*lines).steps, ())
    assert "harbour" in facts.good_texts
    assert "quay" not in facts.good_texts
