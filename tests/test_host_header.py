"""Host headers are read strictly: a name is this machine's only where nobody else can have it."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.host_headers import NO_HOST, ODD_ADDRESSES, OF_OTHERS, OF_THIS_MACHINE, mangled
from weaklink.inspector.host_header import host_name, is_loopback


@pytest.mark.parametrize("header", OF_THIS_MACHINE)
def test_a_name_of_this_machine_is_known_however_it_is_written(header: str) -> None:
    name = host_name(header)
    assert name is not None
    assert is_loopback(name)
    assert name == name.lower()


@pytest.mark.parametrize("header", [*OF_OTHERS, *ODD_ADDRESSES])
def test_a_name_of_another_is_not_this_machines(header: str) -> None:
    name = host_name(header)
    assert name is None or not is_loopback(name)


@pytest.mark.parametrize("header", NO_HOST)
def test_what_is_no_host_has_no_name(header: str) -> None:
    assert host_name(header) is None


def test_nothing_that_holds_anothers_name_is_this_machines() -> None:
    made = mangled(2_000)
    assert len(set(made)) > 500
    assert [header for header in made if (name := host_name(header)) is not None and is_loopback(name)] == []


@pytest.mark.invariants
@given(st.text(st.sampled_from("localhst.127[]:@%ef \t\\/\0ⓛ"), max_size=24))
def test_what_is_taken_for_this_machine_is_nothing_but_its_name_and_a_port(header: str) -> None:
    name = host_name(header)
    if name is None or not is_loopback(name):
        return
    bare, colon, port = header.rpartition(":") if not header.endswith("]") and ":" in header else (header, "", "")
    assert not colon or port == "" or port.isdecimal()
    bare = bare.lower().strip("[]").removesuffix(".")
    assert bare == "localhost" or bare.endswith(".localhost") or ip_address(bare).is_loopback
