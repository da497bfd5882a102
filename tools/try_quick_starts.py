"""Try the quick starts of the documents with a wheel in empty environments: what `make quick-starts` runs.

Each is a block of Python with the output behind it. The environment has the wheel with the extra that the page names,
and the packages of the other side (`openai`, `langgraph`) from PyPI, in the versions that `constraints.txt` has.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```output\n(.*?)```)?", re.DOTALL)


@dataclass(frozen=True)
class QuickStart:
    """A block of a page, and what is installed for it."""

    name: str
    page: str
    heading: str  #: the first block behind it is the quick start
    extra: str = ""
    packages: tuple[str, ...] = ()

    @property
    def block(self) -> tuple[str, str]:
        """The program, and what it prints."""
        text = (ROOT / self.page).read_text("utf-8")
        found = _BLOCK.search(text, text.index(f"\n{self.heading}\n"))
        if found is None:
            raise LookupError(f"{self.page} has no example behind {self.heading!r}")
        return found[1], found[2] or ""


QUICK_STARTS = (
    QuickStart("Python library", "README.md", "## Quick start"),
    QuickStart("MCP client", "docs/how-to/mcp.md", "## From a program", "mcp"),
    QuickStart("OpenAI client through the proxy", "docs/how-to/proxy.md", "## Use it", "server", ("openai",)),
    QuickStart("LangGraph", "docs/how-to/frameworks.md", "## LangGraph", "langgraph"),
)


def main() -> int:
    """Build the wheel, try each quick start, and return how many failed."""
    with tempfile.TemporaryDirectory(prefix="memoryos-quick-") as name:
        folder = Path(name)
        _pip(Path(sys.executable), "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
        (wheel,) = folder.glob("*.whl")
        failed = [one.name for one in QUICK_STARTS if not _is_right(one, wheel, folder / one.name.replace(" ", "-"))]
    works = f"{len(QUICK_STARTS) - len(failed)} of {len(QUICK_STARTS)} work"
    print(f"{works}; failed: {', '.join(failed)}" if failed else works)
    return len(failed)


def _is_right(one: QuickStart, wheel: Path, folder: Path) -> bool:
    """Whether the quick start prints in an empty environment what its page shows."""
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    extra = f"[{one.extra}]" if one.extra else ""
    _pip(python, "install", "--constraint", str(ROOT / "constraints.txt"), f"{wheel}{extra}", *one.packages)
    (folder / "work").mkdir()
    code, shown = one.block
    done = subprocess.run([python, "-c", code], cwd=folder / "work", capture_output=True, text=True, check=False)
    is_right = done.returncode == 0 and is_printed(shown, done.stdout)
    print(f"{one.name} ({one.page}): {'works' if is_right else 'FAILED'}", flush=True)
    if not is_right:
        print(done.stdout, done.stderr, sep="\n")
    return is_right


def is_printed(shown: str, printed: str) -> bool:
    """Whether an output is the one that is shown, in which ... stands for anything."""
    pattern = ".*".join(map(re.escape, shown.split("...")))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def _pip(python: Path, *arguments: str) -> None:
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
