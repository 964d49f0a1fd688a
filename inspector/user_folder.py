"""The folder of the user's own data: the default database, saved views, and what could not be stored elsewhere."""

from pathlib import Path

import platformdirs


def user_folder() -> Path:
    """The folder; it may not exist yet."""
    return platformdirs.user_data_path("weaklink", appauthor=False)
