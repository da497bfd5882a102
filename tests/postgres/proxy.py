"""A wire between the driver and the server that can be cut exactly in a commit."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Self

from sqlalchemy.engine import URL

_COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"  # as the driver sends it
_WRITE = b"INSERT INTO cubes"
_LONG = 30.0  # seconds, after which a test has failed


@dataclass
class Cut:
    """How the wire is cut in the commit of the next write."""

    delivered: bool  #: the server gets the COMMIT, and the client never hears of it
    lingering: bool = False  #: the server does not notice, as with a machine that vanished, until `notice`
    notice: Event = field(default_factory=Event)
    before: Callable[[], object] = bool  #: called before anybody notices


class Proxy:
    """Forwards connections to the server of a URL."""

    def __init__(self, url: URL) -> None:
        self._address = f"{url.query['host']}/.s.PGSQL.{url.port or 5432}"
        self._cuts: deque[Cut] = deque()
        self._open: list[socket.socket] = []
        self.is_away = False  #: new connections are closed at once
        self.flows = Event()  #: while it is not set, connections are accepted, and nothing passes
        self.flows.set()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = url.set(host="127.0.0.1", port=self._door.getsockname()[1], query={})
        Thread(target=self._listen, daemon=True).start()

    def cut_commit(self, cut: Cut) -> None:
        """Cut the wire in the commit of the next write; may be told several times."""
        self._cuts.append(cut)

    @property
    def is_done(self) -> bool:
        """Whether each cut was made."""
        return not self._cuts

    def hang_up(self) -> None:
        """End every connection."""
        for one in self._open:
            _close(one)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _close(self._door)
        self.hang_up()
        self.flows.set()

    def _listen(self) -> None:
        with suppress(OSError):  # the door is closed
            while True:
                client, _ = self._door.accept()
                if self.is_away:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._address)
                self._open += [client, server]
                wire = _Wire(client, server, self._cuts, self.flows)
                Thread(target=wire.carry_questions, daemon=True).start()
                Thread(target=wire.carry_answers, daemon=True).start()


@dataclass
class _Wire:
    client: socket.socket
    server: socket.socket
    cuts: deque[Cut]
    flows: Event
    is_mute: bool = False
    has_answered: Event = field(default_factory=Event)

    def carry_questions(self) -> None:
        has_written = False
        with suppress(OSError):
            while data := self.client.recv(1 << 16):
                self.flows.wait()
                has_written = has_written or _WRITE in data
                if has_written and self.cuts and _COMMIT in data:
                    self._cut(self.cuts.popleft(), data)
                    return
                self.server.sendall(data)
        _close(self.server)

    def carry_answers(self) -> None:
        with suppress(OSError):
            while data := self.server.recv(1 << 16):
                self.flows.wait()
                if self.is_mute:
                    self.has_answered.set()
                else:
                    self.client.sendall(data)
        _close(self.client)

    def _cut(self, cut: Cut, data: bytes) -> None:
        self.is_mute = True
        cut.before()
        if cut.delivered:
            self.server.sendall(data)
            self.has_answered.wait(_LONG)
        _close(self.client)
        if cut.lingering:
            cut.notice.wait(_LONG)
        _close(self.server)


def _close(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
    one.close()
