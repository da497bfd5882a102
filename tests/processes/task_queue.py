"""Tasks for Celery: a store is open when the workers are forked, and each opens its own in `worker_process_init`."""

from __future__ import annotations

import os
import warnings
from typing import Any

from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import worker_process_init, worker_process_shutdown, worker_ready

import memoryos
from memoryos import Memory, load_settings
from memoryos.errors import StorageError

SETTINGS = load_settings(embedder="hashing")

warnings.simplefilter("ignore", SecurityWarning)  # tests may run as root

app = Celery(broker="filesystem://")
app.conf.broker_transport_options = {
    **dict.fromkeys(["data_folder_in", "data_folder_out"], os.environ["QUEUE"]),
    "control_folder": os.environ["QUEUE"],
    "polling_interval": 0.02,
}
app.conf.task_ignore_result = True
app.conf.worker_prefetch_multiplier = 1

early = memoryos.open(os.environ["EARLY"], user="ann", settings=SETTINGS)
early.add("I bought a kite.")
_own: list[Memory] = []  # of this process


@worker_process_init.connect
def open_own(**_: Any) -> None:
    _own.append(memoryos.open(os.environ["OWN"], user="ann", settings=SETTINGS))


@worker_process_shutdown.connect
def close_own(**_: Any) -> None:
    _own.pop().close()


@worker_ready.connect
def send(**_: Any) -> None:
    for number in range(int(os.environ["TASKS"])):
        remember.delay(f"I bought {number} kites.")


@app.task
def remember(said: str) -> None:
    """Add it, and print what the memory says that was open before the fork."""
    added = _own[0].add(said)
    try:
        told = str(len(early.search("kite").hits))
    except StorageError as error:
        told = str(error)
    os.write(1, f"task {os.getpid()} {added} {told}\n".encode())
