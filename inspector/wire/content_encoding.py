"""Unpacks compressed bodies while they arrive: gzip, deflate, br and zstd, within bounds."""

import codecs
import re
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import brotli  # type: ignore[import-untyped]  # it has no types

from weaklink.inspector.memory import RECORD_BYTES

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_BODY_BYTES = RECORD_BYTES
"""The most bytes that one body may unpack to."""

_GROWTH = 200  # an answer of one repeated token packs well, but not like a bomb
_MIN_BOUND_BYTES = 16 << 20  # bytes that every body may unpack to
_MAX_LAYERS = 3
_SLICE = 512  # compressed bytes that are unpacked at once, within the bound on what they unpack to
_REPLAYED = 1 << 20  # bytes of a stream that are held, in order to unpack a damaged slice again byte by byte
_ENOUGH = 16  # bytes that are enough to distinguish text from compressed data
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NO_ENCODING = frozenset({"", "identity", "none", "utf-8", "aws-chunked"})
_DAMAGE = (zlib.error, brotli.error, zstd.ZstdError, EOFError)


class ContentDecoder:
    """Removes the `Content-Encoding` of one body, wherever its bytes are split; never raises.

    `encoding` is the header's value; several encodings, at most three, were applied in their order. The content of a
    damaged or truncated body before the damage is returned, to the byte within the first MiB of a compressed stream. A
    body that is not compressed although its header says so, or whose encoding is unknown, is returned unchanged. It
    unpacks to at most `max_bytes`, and beyond 16 MiB to at most 200 times its compressed size. `fault` is a sentence on
    what is wrong, `""` if nothing is; nothing is returned after a fault in the middle of a body.
    """

    def __init__(self, encoding: str = "", *, max_bytes: int = MAX_BODY_BYTES) -> None:
        names = [name for part in encoding.split(",") if (name := part.strip().lower()) not in _NO_ENCODING]
        unknown = next((name for name in names if name not in _LAYERS), "")
        self._fault = ""
        if unknown:
            self._fault = f"The body's encoding `{unknown[:40]}` is unknown; the body is kept as it is."
        elif len(names) > _MAX_LAYERS:
            self._fault = f"The body has {len(names)} encodings; at most {_MAX_LAYERS} are decoded."
        self._layers = [] if self._fault else [_EncodingLayer(name, max_bytes) for name in reversed(names)]

    @property
    def fault(self) -> str:
        """What is wrong with the body so far, as a sentence."""
        return self._fault or next((layer.fault for layer in self._layers if layer.fault), "")

    def feed(self, raw: bytes) -> bytes:
        """What these bytes unpack to; may be empty."""
        for layer in self._layers:
            raw = layer.feed(raw)
        return raw

    def close(self) -> bytes:
        """End the body; returns the few bytes that were still held back."""
        raw = b""
        for layer in self._layers:
            raw = layer.feed(raw) + layer.close()
        return raw


class _Decompressor(Protocol):
    """One stream of one compression."""

    def unpack(self, raw: bytes, at_most: int) -> bytes:
        """What these bytes unpack to; if that is more than `at_most` bytes, enough of it to show this."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the stream has ended."""
        ...

    @property
    def rest(self) -> bytes:
        """The bytes after the end."""
        ...


class _EncodingLayer:
    """One encoding. Until there is output, the input is held: it may turn out not to be compressed at all."""

    def __init__(self, name: str, max_bytes: int) -> None:
        self._name = name
        self._variants = list(_LAYERS[name])
        self._unpacker: _Decompressor | None = self._variants.pop(0)()
        self._new_unpacker = _LAYERS[name][0]
        self._held = b""
        self._stream = bytearray()
        self._input_bytes = self._output_bytes = 0
        self._max_bytes = max_bytes
        self._is_plain = False
        self._error: Exception | None = None
        self.fault = ""

    def feed(self, raw: bytes) -> bytes:
        if self._is_plain:
            return raw
        if self._unpacker is None or not raw:
            return b""
        self._input_bytes += len(raw)
        if not self._output_bytes:
            self._held += raw
        pieces: list[bytes] = []
        try:
            for index in range(0, len(raw) if self._error is None else 0, _SLICE):
                self._unpack(raw[index : index + _SLICE], pieces)
        except _DAMAGE as error:
            self._error = error
        if self._output_bytes:
            self._held = b""
        if self._error is not None:
            pieces.append(self._failed(at_end=False))
        return b"".join(pieces)

    def close(self) -> bytes:
        unpacked = self._failed(at_end=True) if self._error is not None else b""
        unpacker, self._unpacker = self._unpacker, None
        if unpacker is None or self._is_plain or self._error is not None or unpacker.ended:
            return unpacked
        if self._input_bytes and not self._output_bytes and _is_text(self._held):
            return self._as_plain_text()
        self.fault = f"The body ends before its {self._name} data does." if self._input_bytes else ""
        return unpacked

    def _unpack(self, raw: bytes, pieces: list[bytes]) -> None:
        """Append what the bytes unpack to; streams may follow one another."""
        while raw and (unpacker := self._unpacker):
            if unpacker.ended:
                unpacker = self._unpacker = self._new_unpacker()
                self._stream.clear()
            bound = min(self._max_bytes, max(_MIN_BOUND_BYTES, self._input_bytes * _GROWTH))
            try:
                piece = unpacker.unpack(raw, bound - self._output_bytes)
            except _DAMAGE:
                pieces.append(self._before_damage(raw, bound - self._output_bytes))
                self._output_bytes += len(pieces[-1])
                raise
            if len(self._stream) <= _REPLAYED:
                self._stream += raw
            pieces.append(piece[: bound - self._output_bytes])
            self._output_bytes += len(pieces[-1])
            if len(piece) > len(pieces[-1]):
                self._stop(f"The body unpacks to more than {bound} bytes; the rest is not read.")
            raw = unpacker.rest.lstrip(b"\0") if unpacker.ended else b""  # zeros pad the end of some files

    def _before_damage(self, raw: bytes, at_most: int) -> bytes:
        """What the good bytes of a damaged slice unpack to.

        Unpacks the stream again, then the slice byte by byte.
        """
        if len(self._stream) > _REPLAYED:
            return b""
        unpacker = self._new_unpacker()
        good = bytearray()
        with suppress(*_DAMAGE):  # the damage is known
            unpacker.unpack(bytes(self._stream), self._output_bytes)
            for index in range(len(raw)):
                good += unpacker.unpack(raw[index : index + 1], at_most - len(good))
        return bytes(good[:at_most])

    def _failed(self, *, at_end: bool) -> bytes:
        """The data is damaged or, if nothing was unpacked yet, in another variant of the encoding, or plain text."""
        if self._output_bytes:
            self._stop(
                f"The body's {self._name} data is damaged after {self._output_bytes} unpacked bytes: {self._error}."
            )
        elif len(self._held) < _ENOUGH and not at_end:
            return b""
        elif _is_text(self._held):
            return self._as_plain_text()
        elif self._variants:
            return self._try_again()
        else:
            self._stop(f"The body's {self._name} data cannot be read: {self._error}.")
        return b""

    def _try_again(self) -> bytes:
        self._new_unpacker = self._variants.pop(0)
        self._unpacker, self._error = self._new_unpacker(), None
        self._stream.clear()
        held, self._held, self._input_bytes = self._held, b"", 0
        return self.feed(held)

    def _as_plain_text(self) -> bytes:
        self._is_plain = True
        self.fault = f"The header declares the body as {self._name}, but it is not compressed; it is read as it is."
        held, self._held = self._held, b""
        return held

    def _stop(self, fault: str) -> None:
        self._unpacker = None
        self._stream.clear()
        self._held = b""
        self.fault = fault


def _is_text(raw: bytes) -> bool:
    """Whether the beginning of a body is text, perhaps truncated in the middle of a character."""
    start = raw[:256]
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return not _BINARY.search(start)


class _Stream:
    """gzip, deflate and zstd, whose libraries have the same interface."""

    def __init__(self, stream: "zlib._Decompress | zstd.ZstdDecompressor") -> None:
        self._stream = stream

    def unpack(self, raw: bytes, at_most: int) -> bytes:
        return self._stream.decompress(raw, at_most + 1)

    @property
    def ended(self) -> bool:
        return self._stream.eof

    @property
    def rest(self) -> bytes:
        return self._stream.unused_data


class _Brotli:
    """br; no other stream can follow its end."""

    rest = b""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def unpack(self, raw: bytes, at_most: int) -> bytes:
        unpacked: bytes = self._stream.process(raw, output_buffer_limit=at_most + 1)
        return unpacked

    @property
    def ended(self) -> bool:
        return bool(self._stream.is_finished())


def _zlib(window_bits: int) -> _Stream:
    return _Stream(zlib.decompressobj(window_bits))


def _zstd() -> _Stream:
    """The library bounds its window to 128 MiB."""
    return _Stream(zstd.ZstdDecompressor())


_GZIP: tuple[Callable[[], _Decompressor], ...] = (lambda: _zlib(16 + zlib.MAX_WBITS),)
# deflate with its required header or, as some servers send it, without
_DEFLATE: tuple[Callable[[], _Decompressor], ...] = (lambda: _zlib(zlib.MAX_WBITS), lambda: _zlib(-zlib.MAX_WBITS))
_LAYERS: dict[str, tuple[Callable[[], _Decompressor], ...]] = {
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    "deflate": _DEFLATE,
    "br": (_Brotli,),
    "zstd": (_zstd,),
}
"""The variants of each encoding; the first is that of the standard (RFC 9110, section 8.4.1)."""
