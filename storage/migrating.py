"""Runs Alembic on a connection of ours, from wherever the package lies; there is no alembic.ini."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

SCRIPTS = Path(__file__).parent / "migrations"


def migrate(connection: sa.Connection, to: str) -> None:
    """Lift or lower the tables to a version, within the connection's transaction."""
    lower = to == "base"
    (command.downgrade if lower else command.upgrade)(config(connection), to)


def config(connection: sa.Connection | None = None) -> Config:
    """What Alembic asks for: the folder of scripts, and the connection they run on."""
    settings = Config(attributes={"connection": connection})
    settings.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    settings.set_main_option("path_separator", "os")
    return settings
