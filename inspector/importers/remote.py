"""Files by URL: `file://`, and object stores (`s3://`, `gs://`, `hf://` and others that fsspec knows) through pyarrow.

A remote file is read in ranges, never copied to disk. Each store's library finds its keys in its usual locations
(environment, profile, instance). `AWS_ENDPOINT_URL` names an S3 server other than Amazon's, `STORAGE_EMULATOR_HOST` a
server other than Google's (without keys), `HF_ENDPOINT` a hub other than Hugging Face's.
"""

import io
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from weaklink.inspector.errors import UnreadableFileError, WeaklinkError

_BUFFER = 1 << 20
_MAGIC = frozenset("*?[")


class MissingRemoteLibraryError(WeaklinkError):
    """pyarrow, or the library of a store, is not installed; the message has the command that installs it."""


class RemoteFile(Struct, frozen=True):
    """A file of an object store, as `FileContent`. `version` is the modification time that the store reports."""

    url: str
    size_bytes: int
    version: str = ""

    def open(self) -> io.BufferedReader:
        """The file's bytes from the beginning, fetched as they are read. OSError if the store refuses."""
        filesystem, path = file_system_of(self.url)
        return io.BufferedReader(filesystem.open_input_file(path), _BUFFER)


def find_remote_files(url: str) -> list[RemoteFile]:
    """The file of a URL, the files in its folder, or those that match its pattern (`*`, `?`, `[...]`), sorted.

    In folders, names that begin with `.` or `_` are left out: Spark and Hive write such files beside the data. Raises
    UnreadableFileError and MissingRemoteLibraryError.
    """
    filesystem, path = file_system_of(url)
    scheme = url.partition("://")[0]
    try:
        return list(_found(filesystem, path, scheme, url))
    except OSError as error:
        raise UnreadableFileError(f"cannot read {url}: {_reason(error)}") from error


@lru_cache(maxsize=64)
def _store_of(root: str) -> tuple[Any, str]:
    fs = _pyarrow_fs()
    scheme = root.partition("://")[0]
    try:
        if scheme in ("s3", "gs", "gcs"):
            found: tuple[Any, str] = fs.FileSystem.from_uri(_with_endpoint(root))
            return found
        fsspec: Any = import_module("fsspec")
        return fs.PyFileSystem(fs.FSSpecHandler(fsspec.filesystem(scheme))), root.partition("://")[2]
    except (ImportError, ValueError) as error:
        raise MissingRemoteLibraryError(f"cannot open {scheme}://: {_reason(error)}") from error


def file_system_of(url: str) -> tuple[Any, str]:
    """The pyarrow file system of a URL, cached for the process, and the path in it.

    Raises MissingRemoteLibraryError, and OSError if the store cannot be reached.
    """
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    filesystem, root = _store_of(f"{scheme}://{bucket}")
    return filesystem, f"{root.rstrip('/')}/{key}" if key else root


def _with_endpoint(root: str) -> str:
    """The URL of a bucket with the server that the environment names: pyarrow itself reads no `http://` endpoint."""
    scheme, _, bucket = root.partition("://")
    if scheme == "s3":
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        options, name = "&allow_bucket_creation=false", bucket
    else:
        endpoint, options, name = os.environ.get("STORAGE_EMULATOR_HOST"), "", f"anonymous@{bucket}"
    if not endpoint:
        return root
    parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
    return f"{scheme}://{name}?endpoint_override={parts.netloc}&scheme={parts.scheme}{options}"


def _found(filesystem: Any, path: str, scheme: str, url: str) -> Iterator[RemoteFile]:
    fs = _pyarrow_fs()
    if _MAGIC & set(path):
        base = path[: min(path.find(one) for one in _MAGIC if one in path)].rpartition("/")[0]
        listed = filesystem.get_file_info(fs.FileSelector(base, recursive=True))
        pattern = path.lstrip("/")
        files = [one for one in listed if one.type == fs.FileType.File]
        kept = [file for file in files if fnmatchcase(file.path.lstrip("/"), pattern)]
    else:
        info = filesystem.get_file_info(path)
        if info.type == fs.FileType.File:
            kept = [info]
        elif info.type == fs.FileType.Directory:
            listed = filesystem.get_file_info(fs.FileSelector(path, recursive=True))
            kept = [one for one in listed if one.type == fs.FileType.File and not _is_hidden(one.path, path)]
        else:
            kept = []
    if not kept:
        raise UnreadableFileError(f"cannot read {url}: there is no such file")
    for one in sorted(kept, key=lambda info: str(info.path)):
        yield RemoteFile(f"{scheme}://{one.path.lstrip('/')}", one.size, str(one.mtime_ns or ""))


def _is_hidden(path: str, folder: str) -> bool:
    return any(name.startswith((".", "_")) for name in path.removeprefix(folder).strip("/").split("/"))


def _pyarrow_fs() -> Any:
    try:
        from pyarrow import fs  # noqa: PLC0415  # 60 ms, and optional
    except ImportError as error:
        message = "Files by URL need `pyarrow`, which is not installed: pip install 'weaklink[cluster]'"
        raise MissingRemoteLibraryError(message) from error
    return fs


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
