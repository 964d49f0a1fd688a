"""The sink that stores recorded sessions in weaklink's database; the entry point `store` of `weaklink.sinks`."""

from weaklink.storage.live import StoreSink

__all__ = ["StoreSink"]
