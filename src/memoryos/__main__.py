"""`python -m memoryos` is the memoryos command."""

from __future__ import annotations

from memoryos.interface.cli.app import main

if __name__ == "__main__":
    main()
