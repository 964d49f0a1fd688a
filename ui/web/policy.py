"""What a browser is told to refuse: everything that is not the dashboard's own."""

import base64
import hashlib
import re
from pathlib import Path

_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def security_headers(index: str) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of every answer, as ASGI wants them. `index` is the page's HTML: its own inline scripts may run.

    Inline components are loaded from `blob:` (Streamlit, `st.components.v2`); nothing else is fetched from anywhere.
    """
    scripts = " ".join(_hash(script) for script in _INLINE.findall(index))
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' blob: {scripts}".rstrip(),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "media-src 'self' blob:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "manifest-src 'self'",
            "frame-src 'none'",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
    return (
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    )


def index_page() -> str:
    """The HTML that Streamlit serves for every page."""
    import streamlit  # noqa: PLC0415  # only the running dashboard pays for it

    return (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
