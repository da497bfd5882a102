"""An adapter as somebody else's package would bring it: a folder of notes, each a page (docs/explanation/mounts.md)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from memoryos import Mount, Scope, Settings, Turn
from memoryos.adapters import Embedder, Found, Origin, Wanted, entries_of
from memoryos.errors import StorageError
from memoryos.kinds import Role


class Notes:
    """Every note is told; the memory that asks ranks them."""

    def __init__(self, mount: Mount, embedder: Embedder, settings: Settings) -> None:
        self.folder = Path(str(mount.place).removeprefix("notes:"))
        self.scope = mount.scope or Scope(user="notes", namespace=("expert", "notes"))
        self.embedder = embedder
        self.lock = self.folder / f"open-{mount.name}"
        if self.folder.is_dir():
            self.lock.touch()

    def query(self, wanted: Wanted) -> Found:
        if not self.folder.is_dir():
            raise StorageError(f"{self.folder} is away")
        pages = [[self._turn(path)] for path in sorted(self.folder.glob("*.txt"))]
        return Found.of(entries_of(pages, self.scope, self.embedder, now=wanted.now), wanted)

    def write(
        self, turns: Sequence[Turn], *, tags: Sequence[str], origin: Origin, idempotency_key: str | None
    ) -> list[str]:
        path = self.folder / f"{len(list(self.folder.glob('*.txt')))}.txt"
        path.write_text("\n".join(turn.text for turn in turns))
        return [path.name]

    def sync(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        self.lock.unlink(missing_ok=True)

    @staticmethod
    def _turn(path: Path) -> Turn:
        said = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return Turn(role=Role.USER, text=path.read_text(), at=said, speaker="notes")
