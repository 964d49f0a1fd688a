"""The model's server, which the stories of a process share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.story import PYTHON, loaded_sdk, started


@pytest.fixture(scope="session")
def model_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that plays a model."""
    assert Path(PYTHON).exists(), "the SDKs are not installed; `make build/clients/installed` installs them"
    command = [sys.executable, str(Path(__file__).with_name("model_server.py"))]
    with started(command, tmp_path_factory.mktemp("model"), r"(http://\S+)") as (_, address):
        yield address


@pytest.fixture(scope="session", autouse=True)
def _loaded_sdk() -> Iterator[None]:
    """The process that has an SDK loaded ends with the tests."""
    with loaded_sdk:
        yield
