"""Sealed streams: bytes in pieces of AES-256-GCM. Pieces cannot be changed, moved, repeated or cut off unnoticed.

A stream begins with a format mark and a random salt. The salt, the name and the data key give the key of this stream.
The number of a piece is its nonce, with a mark on the last one.
"""

from __future__ import annotations

import io
import secrets
from typing import Any, BinaryIO

from memoryos.infrastructure.encryption.data_key import DataKey

PIECE = 1 << 18  # bytes of content
MARK = b"memoryos sealed 1\n"
_SALT = 32
_TAG = 16
_HEAD = len(MARK) + _SALT


def sealed(key: DataKey, name: str, data: bytes) -> bytes:
    """The data as a sealed stream."""
    stream = io.BytesIO()
    writer = SealedWriter(stream, key, name)
    writer.write(data)
    writer.finish()
    return stream.getvalue()


def unsealed(key: DataKey, name: str, data: bytes) -> bytes:
    """The content of a sealed stream. Raises ValueError if it was changed, or has another key or name."""
    reader = UnsealedReader(io.BytesIO(data), len(data), key, name)
    return reader.read(reader.size)


class SealedWriter:
    """Seals what is written to it; call `finish` at the end."""

    def __init__(self, stream: BinaryIO, key: DataKey, name: str) -> None:
        salt = secrets.token_bytes(_SALT)
        self._stream = stream
        self._cipher = _cipher(key, name, salt)
        self._pending = bytearray()
        self._number = 0
        stream.write(MARK + salt)

    def write(self, data: bytes | memoryview) -> None:
        """Seal more content."""
        view = memoryview(data).cast("B")
        while len(self._pending) + len(view) > PIECE:  # the last piece is not sealed before `finish`
            taken = PIECE - len(self._pending)
            self._pending += view[:taken]
            view = view[taken:]
            self._put(is_last=False)
        self._pending += view

    def finish(self) -> None:
        """Seal the last piece."""
        self._put(is_last=True)

    def _put(self, *, is_last: bool) -> None:
        self._stream.write(self._cipher.encrypt(_nonce(self._number, is_last=is_last), bytes(self._pending), None))
        self._number += 1
        self._pending.clear()


class UnsealedReader:
    """Reads the content of a sealed stream. Raises ValueError if it was changed."""

    def __init__(self, stream: BinaryIO, nbytes: int, key: DataKey, name: str) -> None:
        head = stream.read(_HEAD)
        if len(head) < _HEAD or not head.startswith(MARK):
            raise ValueError("not a sealed stream")
        self._stream = stream
        self._cipher = _cipher(key, name, head[len(MARK) :])
        self._pieces = max(1, -(-(nbytes - _HEAD) // (PIECE + _TAG)))
        self._number = 0
        self._piece = memoryview(b"")
        self.size = nbytes - _HEAD - self._pieces * _TAG  #: of the content, in bytes
        self._read = 0

    def tell(self) -> int:
        """How much of the content was read."""
        return self._read

    def read(self, length: int) -> bytes:
        """The next bytes of the content; fewer at its end."""
        found = bytearray(max(0, min(length, self.size - self._read)))
        self.readinto(memoryview(found))
        return bytes(found)

    def readinto(self, room: memoryview) -> int:
        """Fill the room with the next bytes of the content; return how many there were."""
        done = 0
        while done < len(room) and (self._piece or self._next()):
            taken = self._piece[: len(room) - done]
            room[done : done + len(taken)] = taken
            self._piece = self._piece[len(taken) :]
            done += len(taken)
        if self._read + done >= self.size:
            self._check_end()
        self._read += done
        return done

    def _next(self) -> bool:
        if self._number >= self._pieces:
            return False
        from cryptography.exceptions import InvalidTag

        is_last = self._number == self._pieces - 1
        data = self._stream.read(PIECE + _TAG)
        try:
            self._piece = memoryview(self._cipher.decrypt(_nonce(self._number, is_last=is_last), data, None))
        except InvalidTag:
            raise ValueError("changed, or sealed with another key") from None
        self._number += 1
        return True

    def _check_end(self) -> None:
        """Open the last piece also when it is empty: it tells that nothing is cut off."""
        while self._number < self._pieces:
            if self._next() and self._piece:
                return


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


def _cipher(key: DataKey, name: str, salt: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key.of_file(name, salt))
