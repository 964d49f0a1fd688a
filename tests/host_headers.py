"""Host headers as clients, attackers and broken programs write them, for every guard that reads one."""

import re
from random import Random

OF_THIS_MACHINE = (
    *("localhost", "LOCALHOST", "Localhost:8788", "localhost.", "localhost:", "localhost:0", "weaklink.localhost"),
    *("127.0.0.1", "127.0.0.1:8788", "127.0.0.1.", "127.255.255.254", "127.0.0.1:65535"),
    *("[::1]", "[::1]:8788", "[0:0:0:0:0:0:0:1]", "[0000::0001]:1", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]:80"),
)
"""Names by which only this machine is reached."""

OF_OTHERS = (
    *("evil.example", "EVIL.example:8788", "127.0.0.1.evil.example", "localhost.evil.example", "evil-localhost"),
    *("localhost.evil.example.", "notlocalhost", "127.0.0.1evil.example", "xn--lcalhost-54a", "[2606:4700::1111]evil"),
)
"""Names of somebody else."""

NO_HOST = (
    *(
        "[::1].evil.example",
        "[::1]evil.example:80",
        "[::1",
        "::1]",
        "::1",
        "::1:8788",
        "[]",
        "[]:80",
        "[::1]]",
        "[[::1]]",
    ),
    *(
        "[::1]:80:90",
        "[::1%25eth0]",
        "[::1%lo]",
        "[127.0.0.1]",
        "[localhost]",
        "[v1.x]",
        "[::1].",
        "[::g]",
        "[1::2::3]",
    ),
    *("x@localhost", "localhost@evil.example", "evil.example@localhost", "x:y@127.0.0.1", "@localhost", "localhost@"),
    *("", " ", "localhost evil.example", " localhost", "localhost ", "\tlocalhost", "local\thost", "localhost\r\nX: y"),
    *("localhost:80:80", "localhost:8o", "localhost:-1", "localhost:+80", "localhost: 80", "localhost:999999", ":80"),
    *("localhost,evil.example", "localhost, localhost", "localhost;x", "localhost/x", "localhost?x", "localhost#x"),
    *("localhost\\evil", "http://localhost", "localhost%2eevil.example", "%6cocalhost", "local\0host", "lоcalhost"),
    *("localhost..", ".localhost", "..", ".", "a..b", "ⓛocalhost", "127。0。0。1", "\xff", "localhost\xa0", "a" * 64),
)
"""What is no host at all, however some reader might take it."""

ODD_ADDRESSES = (
    "127.1",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "2130706433",
    "0x7f000001",
    "127.0.0.01",
    "127.0.1",
    "0",
    "256.0.0.1",
)
"""IPv4 as `inet_aton` reads it; browsers write the plain form, so none of these is taken for an address."""


_BELOW_LOCALHOST = re.compile(r"[a-z.]+\.localhost\.?(?::[0-9]*)?")  # RFC 6761: these are this machine too


def mangled(count: int, seed: int = 1) -> list[str]:
    """Hosts with something before, behind or within them that makes them another's, or none."""
    dice = Random(seed)
    seams = ["", ".", "@", " ", "\t", ",", "/", "\\", "#", "?", "%", ":", ":80", "]", "[", "\0", "\u3002", "\xa0"]
    made = []
    for _ in range(count):
        ours = dice.choice(OF_THIS_MACHINE)
        left, right = ("evil.example", ours) if dice.random() < 0.5 else (ours, "evil.example")
        made.append(left + "".join(dice.choice(seams) for _ in range(dice.randint(0, 3))) + right)
    return [host for host in made if not _BELOW_LOCALHOST.fullmatch(host.lower())]
