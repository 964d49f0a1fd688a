"""Made-up secrets of every kind, put together here, so that no scanner of a host takes this file for a leak."""

import re

_MIXED = "Aa0Bb1Cc2Dd3Ee4Ff5Gg6Hh7Ii8Jj9Kk0Ll1Mm2Nn3"
_HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
_CAPITALS = "A0B1C2D3E4F5G6H7J8K9L0M1N2P3Q4R5"

_BODIES = {
    **dict.fromkeys(("AKIA", "ASIA"), _CAPITALS[:16]),
    "AGE-SECRET-KEY-1": _CAPITALS + "S6T7",
    "dapi": _HEX,
    "SK": _HEX,
    "SG.": f"{_MIXED[:22]}.{_MIXED}",
    "FLWSECK_TEST-": _HEX[:12],
    "AVNS_": _MIXED[:16],
    "xoxa-": "2-6482039175814",
    "xoxr-": "730592846-qzkwvhp",
    "eyJ": f"{_MIXED[:20]}.eyJ{_MIXED[:24]}.{_MIXED[:30]}",
}

KEYS: dict[str, tuple[str, str]] = {
    prefix: (prefix, _BODIES.get(prefix, _MIXED[:36]))
    for prefix in (
        *("sk-ant-", "sk-or-v1-", "sk-proj-", "sk-svcacct-", "sk-lf-", "sk-helicone-", "sk-", "sk_live_", "sk_test_"),
        *("rk_live_", "whsec_", "hf_", "gsk_", "xai-", "pplx-", "r8_", "nvapi-", "AIza", "ya29.", "GOCSPX-", "AKIA"),
        *("ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-", "npm_"),
        *("pypi-", "dop_v1_", "dapi", "hvs.", "SG.", "AGE-SECRET-KEY-1", "lin_api_", "ntn_", "shpat_", "SK", "eyJ"),
        *("FLWSECK_TEST-", "AVNS_", "xoxa-", "xoxr-"),
    )
}
"""Keys that give themselves away: what stays legible, and what is secret."""

_PEM_LINES = "\n".join([_MIXED] * 3)

INTRODUCED: dict[str, tuple[str, str, str]] = {
    "PEM key": ("-----BEGIN RSA PRIVATE" + " KEY-----\n", _PEM_LINES, "\n-----END RSA PRIVATE" + " KEY-----"),
    "PEM key in JSON": ("-----BEGIN PRIVATE" + " KEY-----\\n", _PEM_LINES.replace("\n", "\\n"), "\\n-----END"),
    "password in an address": ("postgresql://joe:", "hunter2", "@db.example:5432/x"),
    "bearer": ("Authorization: Bearer ", _MIXED[:30], "\r\n"),
    "basic": ("authorization: basic ", "dXNlcjpwYXNzd29yZA==", ""),
    "member": ('{"api_key": "', "hunter2hunter2", '", "n": 1}'),
    "escaped member": ('{\\"client_secret\\": \\"', "hunter2hunter2", '\\"}'),
    "Python member": ("{'access_token': '", "hunter2hunter2", "'}"),
    "variable": ("export OPENAI_API_KEY=", "hunter2hunter2", "\n"),
    "YAML": ("password: ", "hunter2hunter2", "\nuser: joe"),
    "AWS": ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLE", ""),
    "query": ("https://example.com/v1?alt=sse&key=", "hunter2hunter2", "&x=1"),
    "signed address": ("https://example.com/b?X-Amz-Signature=", _HEX, " "),
    "Telegram": ("https://example.com/bot123456789:", _MIXED[:35], "/send"),
}
"""Secrets that words introduce: what stands before one, the secret, and what follows."""

STAYS = (
    r'{"stdout": "total 1\narn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf"}',
    r'{"stdout": "total 1\ncc:kari99@example.com"}',
    "call_abcdefghijklmnopqrstuvwx and chatcmpl-A1b2C3d4E5f6G7h8I9j0K1l2M3n4",
    "9b2c1e52-12ab-4f4e-9a2b-123456789012",
    "sha256:" + "0a1b2c3d" * 8,
    "data:image/png;base64," + _MIXED * 5,
    '{"max_tokens": 100000000, "token": "word", "keys": ["a", "b"], "password": {"type": "string"}}',
    '{"required": ["password", "username", "api_key"], "type": "object"}',
    "password: string, api_key: None, access_token: null, Authorization: Bearer",
    "http://127.0.0.1:8080/a@b and https://example.com/user@example.com",
    "The key: value pairs of a task-oriented, risk-averse, desk-bound clerk_with_a_long_name_and_more",
    "/usr/share/doc/python3-setuptools/sk-notes/README.rst",
    "<tool_call>\n{'name': 'get_user_details', 'arguments': {'user_id': 'mia_li_3668'}}\n</tool_call>",
    "basic understanding, bearer of news, the bot 12345 and its secret: none",
)
"""Texts that hold no secret, however much they look like it."""


def filled(secret: str) -> str:
    """What a secret becomes: every character a filler but blank space and escaped line ends."""
    return re.sub(r"\\n|\S", lambda found: found[0] if len(found[0]) == 2 else "*", secret)
