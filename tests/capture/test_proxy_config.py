"""How a proxy's upstreams are named, which one takes a path, and what cannot be set up."""

import pytest

from weaklink.inspector.capture.proxy import ProxyConfig, ProxyConfigError, Upstream, parse_upstream

OPENROUTER = "https://openrouter.ai/api"


@pytest.mark.parametrize(
    ("text", "upstream"),
    [
        (OPENROUTER, Upstream("", OPENROUTER)),
        ("http://[::1]:8000/", Upstream("", "http://[::1]:8000")),
        ("/anthropic=https://api.anthropic.com/", Upstream("/anthropic", "https://api.anthropic.com")),
        ("/a/b/=http://localhost:11434/v1", Upstream("/a/b", "http://localhost:11434/v1")),
        ("/=http://localhost:1", Upstream("", "http://localhost:1")),
    ],
)
def test_an_upstream_is_an_address_with_or_without_a_prefix(text: str, upstream: Upstream) -> None:
    assert parse_upstream(text) == upstream


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not an address of a server"),
        ("localhost:11434", "write `http://` or `https://` before it"),
        ("openrouter.ai/api", "write `http://` or `https://` before it"),
        ("ftp://host/", "write `http://` or `https://` before it"),
        ("http://", "is not an address of a server"),
        ("/anthropic", "is a path without an address"),
        ("/anthropic=", "has no address"),
        ("https://me:hunter2@host/", "contains a user name or password"),
        ("https://host/?key=hunter2", "continues after its path"),
        ("https://host/#hunter2", "continues after its path"),
        ("https://me:hunter2@host:port/", "host or port that cannot be read"),
        ("https://host:99999/", "host or port that cannot be read"),
        ("https://[me:hunter2", "host or port that cannot be read"),
        ("https://host/ä", "write its host and path in ASCII"),
        ("/weaklink=https://host", "is reserved for weaklink"),
        ("/t/x=https://host", "is reserved for weaklink"),
        ("/a b=https://host", "is not a plain path"),
        ("/a%2Fb=https://host", "is not a plain path"),
    ],
)
def test_what_is_no_upstream_is_refused_in_words_that_repeat_no_secret(text: str, words: str) -> None:
    with pytest.raises(ProxyConfigError) as caught:
        parse_upstream(text)
    assert words in str(caught.value)
    assert str(caught.value).endswith(".")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ("/v1/chat", ""),
        ("/open", "/open"),
        ("/open?x=1", "/open"),
        ("/open/v1", "/open"),
        ("/openai/v1", ""),
        ("/open/er/v1", "/open/er"),
        ("/open/ere", "/open"),
        ("/open%2Fer/v1", ""),
    ],
)
def test_the_longest_prefix_that_ends_with_a_segment_takes_a_path(path: str, prefix: str) -> None:
    config = ProxyConfig(tuple(Upstream(one, "http://host") for one in ("", "/open", "/open/er")))
    taker = config.upstream_of(path)
    assert taker is not None
    assert taker.prefix == prefix


def test_without_an_upstream_at_the_root_a_path_may_have_none() -> None:
    assert ProxyConfig((Upstream("/a", "http://host"),)).upstream_of("/b/v1") is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.7", "example.com", "127.0.0.1.example.com"])
def test_other_machines_are_let_in_with_a_token_only(host: str) -> None:
    upstreams = (Upstream("", "http://host"),)
    with pytest.raises(ProxyConfigError, match="requires a token"):
        ProxyConfig(upstreams, host=host)
    assert ProxyConfig(upstreams, host=host, token="abc_-1").host == host  # made up


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    assert ProxyConfig((Upstream("", "http://host"),), host=host).token == ""


def test_a_proxy_without_upstreams_or_with_two_at_one_place_is_refused() -> None:
    with pytest.raises(ProxyConfigError, match="no upstream"):
        ProxyConfig(())
    with pytest.raises(ProxyConfigError, match="Two upstreams have the path `/a`"):
        ProxyConfig((Upstream("/a", "http://x"), Upstream("/a", "http://y")))


@pytest.mark.parametrize("token", ["a/b", "a b", "ä", "a%41", "a?b"])
def test_a_token_that_cannot_stand_in_a_path_is_refused_without_being_told(token: str) -> None:
    with pytest.raises(ProxyConfigError) as caught:
        ProxyConfig((Upstream("", "http://host"),), token=token)
    assert token not in str(caught.value)
