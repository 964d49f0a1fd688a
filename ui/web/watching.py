"""Watches: a part of a page runs again when what it shows has changed, and not by the clock.

Streamlit's timers (`run_every`) also run a part of a page that was left, if they fire while the next page is on its
way, and the browser then fails with "Bad delta path index". So the browser asks `GET /weaklink/watch/ID` for the state,
which runs no script, and lets the script run for another state only, and not just after a click (`watch/main.js`).
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from secrets import token_urlsafe
from threading import Lock
from typing import ParamSpec

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from weaklink.inspector.errors import WeaklinkError
from weaklink.storage.engine import ServerUnreachableError
from weaklink.ui.web.components import watch_element
from weaklink.ui.web.markup import message
from weaklink.ui.web.stores import store

PATH = "/weaklink/watch/{id}"
_MAX_STATES = 1_000  # of all open pages; those that no browser asked for longest are forgotten
_RETURN_S = 3.0  # between two attempts to reach a server
_ID_BYTES, _DIGEST_BYTES = 12, 12
_STATES: "OrderedDict[str, Callable[[], str]]" = OrderedDict()
_LOCK = Lock()
P = ParamSpec("P")


def put_part(draw: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Draw a part of a page that runs again alone, after a click in it or when what it watches has changed.

    A WeaklinkError of such a run (its trace or the database was deleted meanwhile) lets the whole page run, which says
    what is the matter; Streamlit would show its own message in place of the part. Two parts of a page differ in
    `draw`, or in an argument that is a text.
    """
    runs_alone = False
    texts = (text for text in (*args, *kwargs.values()) if isinstance(text, str))
    part = _digest(" ".join((draw.__module__, draw.__qualname__, *texts)))

    @wraps(draw)  # Streamlit tells parts apart by these names
    def drawn() -> None:
        try:
            draw(*args, **kwargs)
        except WeaklinkError as error:
            if runs_alone:
                st.rerun()
            put_error(error, part)

    st.fragment(drawn)()
    runs_alone = True


def put_error(error: WeaklinkError, part: str = "page") -> None:
    """Say what is the matter with a part of a page, or with the page, with a button to try again.

    If the database's server cannot be reached, the page is drawn again once it can be.
    """
    st.error(message(str(error)), icon=":material/error:")
    st.button("Try again", key=f"weaklink_again_{part}")
    if isinstance(error, ServerUnreachableError):
        _put_return(str(error), part)


def _put_return(error: str, part: str) -> None:
    """Draw nothing; run the page again once the database can be read, or cannot for another reason."""
    is_drawn = False

    def drawn() -> None:
        nonlocal is_drawn
        if is_drawn:
            st.rerun()
        is_drawn = True
        watch(lambda: str(store().stamp()), error, key=f"return_{part}", every_s=_RETURN_S)

    st.fragment(drawn)()


def watch(state: Callable[[], str], shown: str, *, key: str, every_s: float) -> None:
    """Let the fragment around this run again once `state` returns another text than the `shown` one.

    The browser asks every `every_s` seconds. `state` is called in threads of the server: it must not use Streamlit's
    context of a page. Draw this last in a fragment.
    """
    id_ = st.session_state.setdefault(f"weaklink_watch_id_{key}", token_urlsafe(_ID_BYTES))
    with _LOCK:
        _STATES[id_] = state
        _STATES.move_to_end(id_)
        while len(_STATES) > _MAX_STATES:
            _STATES.popitem(last=False)
    watch_element(id_, _digest(shown), key=f"weaklink_watch_{key}", every_s=every_s)


def watch_route() -> Route:
    """The route by which browsers ask for states."""
    return Route(PATH, _answer, methods=["GET"])


def _answer(request: Request) -> Response:
    id_ = request.path_params["id"]
    with _LOCK:
        state = _STATES.get(id_)
        if state is not None:
            _STATES.move_to_end(id_)
    return Response(status_code=404) if state is None else PlainTextResponse(_digest(_text(state)))


def _text(state: Callable[[], str]) -> str:
    try:
        return state()
    except WeaklinkError as error:  # the page meets it too, and shows it
        return str(error)


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
