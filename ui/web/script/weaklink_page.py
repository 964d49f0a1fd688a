"""The script that Streamlit runs for every page and click; everything it does is in `ui.web.application`."""

from weaklink.ui.web.application import show

show()
