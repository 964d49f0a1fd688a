"""The recording proxy: a reverse proxy for model APIs that forwards byte for byte and reports every exchange."""

from weaklink.inspector.capture.proxy.config import ProxyConfig, ProxyConfigError, Upstream, parse_upstream
from weaklink.inspector.capture.proxy.server import BoundAddress, Intercept, run_proxy, running_proxy

__all__ = [
    "BoundAddress",
    "Intercept",
    "ProxyConfig",
    "ProxyConfigError",
    "Upstream",
    "parse_upstream",
    "run_proxy",
    "running_proxy",
]
