"""What gunicorn calls: the first worker opens its memory in `post_fork`, the others with their first request."""

from __future__ import annotations

import importlib
import os
from typing import Any

APPLICATION = "processes.web_app"


def when_ready(server: Any) -> None:
    os.write(1, b"%d\n" % server.LISTENERS[0].sock.getsockname()[1])


def post_fork(_server: Any, worker: Any) -> None:
    if worker.age == 1:
        importlib.import_module(APPLICATION).own()


def worker_exit(_server: Any, _worker: Any) -> None:
    for memory in importlib.import_module(APPLICATION).opened.values():
        memory.close()
