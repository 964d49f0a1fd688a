"""Parses Host headers strictly by the grammar, and checks whether a host name is this machine's loopback name.

Both guards against DNS rebinding parse the header with this module: a lenient parser would accept a foreign name
(`[::1].evil.example`) as ours.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

_HOST = re.compile(
    r"""
    (?: \[ (?P<v6> [0-9A-Fa-f:.]{2,45} ) \]
      | (?P<name> [A-Za-z0-9_-]{1,63} (?: \. [A-Za-z0-9_-]{1,63} ){0,126} \.? ) )   # a name, or an IPv4 address
    (?: : [0-9]{0,5} )?                                                             # the port
    """,
    re.VERBOSE,
)
"""RFC 9110, section 7.2, with the hosts of RFC 3986 that DNS or an address can name; no user, no zone, no escapes."""


def host_name(header: str) -> str | None:
    """The host that a `Host` header names, in lower case, without its port, brackets and final dot; None if invalid.

    An address is returned in its shortest form. What only a lenient parser takes for one (`127.1`, `0x7f.0.0.1`) is
    returned as a name.
    """
    match = _HOST.fullmatch(header)
    if match is None:
        return None
    try:
        return str(IPv6Address(match["v6"])) if match["v6"] is not None else match["name"].lower().removesuffix(".")
    except ValueError:
        return None


def is_loopback(name: str) -> bool:
    """Whether only this machine can reach a server that listens at `name`: a loopback address, or a name for one."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = address_of(name)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address is not None and (mapped or address).is_loopback


def address_of(name: str) -> IPv4Address | IPv6Address | None:
    """`name` as an IP address; None if it is no address."""
    try:
        return ip_address(name)
    except ValueError:
        return None
