"""Run by a test in a process of its own: move a whole store, and die by SIGKILL when so many rows have arrived.

python -m crash.movers backup|restore|copy SOURCE TARGET SHARE
"""

from __future__ import annotations

import os
import signal
import sys

from memoryos import stores
from memoryos.infrastructure.vault import rows

if __name__ == "__main__":
    name, source, target, share = sys.argv[1:]
    rows.AT_A_TIME = 10

    def die(done: int, total: int) -> None:
        if done >= float(share) * total:
            os.kill(os.getpid(), signal.SIGKILL)

    getattr(stores, name)(source, target, progress=die)
