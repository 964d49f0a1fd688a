"""Every rule, and each one explained."""

import streamlit as st

from inspector.rules.catalogue import RULES, find_rule
from ui.web.places import asked, keep


def show() -> None:
    """Draw the page: the rule that the address names, else the first."""
    st.title("Rules")
    named = asked("rule")
    codes = [rule.code for rule in RULES]
    start = codes.index(find_rule(named).code) if named else 0
    chosen = st.selectbox(
        "Rule", RULES, index=start, format_func=lambda rule: f"{rule.code} {rule.name}", key="weaklink_rule"
    )
    keep(rule=chosen.code)
    st.subheader(f"{chosen.code} {chosen.name}")
    st.text(chosen.summary)
    st.text(chosen.explanation)
    for words, text in (("Fails", chosen.bad), ("Passes", chosen.good)):
        if text:
            st.caption(words)
            st.code(text, language=None)
