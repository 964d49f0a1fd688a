"""The sink that stores recorded sessions in weaklink's database; the entry point `store` of `weaklink.sinks`."""

from weaklink.own_packages import require_own

require_own("storage")

from weaklink.storage.live import StoreSink  # noqa: E402  # another package may have the name `storage`

__all__ = ["StoreSink"]
