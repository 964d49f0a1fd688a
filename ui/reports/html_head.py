"""The head of a page that needs nothing else, and the policy under which a browser shows it."""

from base64 import b64encode
from hashlib import sha256

from ui.reports.html_text import escaped


def policy_for(style: str) -> str:
    """A Content-Security-Policy: a browser loads nothing and runs nothing, and takes no style but this one."""
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"


def head_html(title: str, style: str, *, generator: str = "") -> str:
    """A page up to and with the opening of its body. `generator` names the kind of page to programs."""
    made_by = f'<meta name="generator" content="{escaped(generator)}">\n' if generator else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy_for(style)}">\n'
        f'<meta name="referrer" content="no-referrer">\n{made_by}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )
