"""Forked imports: a forked child drops the import locks of threads that do not exist in it.

A background thread may be importing a module when another thread forks. The child then has a module that is half
loaded, and a lock on it that nobody releases: an import of it would wait forever. Python does not reset these locks.
So the child drops both, and imports the module anew when it is needed.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any


def _drop_stale_locks() -> None:
    here = threading.get_ident()
    locks: dict[str, Any] = vars(sys.modules["_frozen_importlib"]).get("_module_locks", {})
    for name, reference in list(locks.items()):
        lock = reference()
        if lock is not None and getattr(lock, "owner", None) not in (None, here):
            del locks[name]
            sys.modules.pop(name, None)


os.register_at_fork(after_in_child=_drop_stale_locks)
