"""Who looks at the dashboard, and what that person may do: by the token, or by a trusted reverse proxy's header."""

import streamlit as st
from msgspec import Struct

from inspector.errors import StoreError, WeaklinkError
from storage.access_tokens import TokenRole
from ui.views.styled_text import visible_line
from ui.web.stores import current_options, store

_LONGEST_NAME = 80
READS_ONLY = "Your token can only read."
"""Why a control is disabled."""


class Visitor(Struct, frozen=True):
    """Who looks at a page: the name ("" where it is not known), and whether changes are allowed."""

    name: str = ""
    may_write: bool = True


def visitor() -> Visitor:
    """Who the page of this run is drawn for. WeaklinkError where the token was revoked since the page was opened."""
    access = current_options().access
    header = st.context.headers.get(access.user_header) if access.user_header else ""
    named = visible_line((header or "")[:_LONGEST_NAME])
    word = st.context.cookies.get(access.cookie, "")
    if not access.stored_tokens or access.is_token(word):
        return Visitor(named)
    held = store().tokens.holder(word)
    if held is None:
        raise WeaklinkError("Your token was revoked or has ended. Ask for another one, and open its address.")
    return Visitor(named or held.name, held.role is TokenRole.WRITE)


def require_write() -> Visitor:
    """Who is about to change something. StoreError where that is not allowed."""
    known = visitor()
    if not known.may_write:
        raise StoreError(READS_ONLY)
    return known
