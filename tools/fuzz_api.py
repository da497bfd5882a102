"""Ask a real server all that /openapi.json describes, with Schemathesis: what `make fuzz` runs. It takes some minutes.

The run has all checks of Schemathesis, and a key that may do everything; its check `ignored_auth` asks without a key
and with a wrong one. What is passed to this program is passed on, e.g. `--phases coverage --include-path /v1/search`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from memoryos import Action, MemoryOS, load_settings

TOOLS = Path(__file__).parent
EMBEDDER = "hashing"  # what is found matters little
SECONDS = "60"  # for an answer: a busy machine is no fault of the API


def main() -> int:
    """Start a server on a new store, let Schemathesis ask it, and return its exit status."""
    os.environ |= {"MEMORYOS_EMBEDDER": EMBEDDER, "PYTHONPATH": str(TOOLS), "SCHEMATHESIS_HOOKS": "fuzz_hooks"}
    with tempfile.TemporaryDirectory(prefix="memoryos-fuzz-") as folder:
        place = str(Path(folder) / "memory.db")
        os.environ["MEMORYOS_FUZZ_KEY"] = _made(place)  # fuzz_api.toml names it
        serve = [
            sys.executable,
            "-m",
            "memoryos",
            "serve",
            "--port",
            "0",
            "--json",
            "--rate",
            "100000000",
            "--db",
            place,
        ]
        with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            try:
                url = json.loads(server.stdout.readline())["url"] if server.stdout else ""
                return _asked(url, sys.argv[1:])
            finally:
                server.terminate()


def _made(place: str) -> str:
    with MemoryOS.open(place, settings=load_settings(embedder=EMBEDDER)) as store:
        memory = store.memory("ann")
        memory.add("I keep bees in Lisbon.")
        memory.facts.add("Ann keeps bees.")
        return store.keys.create("fuzz", roles=["administrator"], actions=list(Action), purposes=["fuzz"]).key


def _asked(url: str, options: list[str]) -> int:
    wanted = options or ["--phases", "examples,coverage,fuzzing", "--max-examples", "20"]
    command = [str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(TOOLS / "fuzz_api.toml"), "run"]
    command += [f"{url}/openapi.json", "--checks", "all", "--no-shrink"]
    command += ["--request-timeout", SECONDS, "--max-response-time", SECONDS, "--wait-for-schema", SECONDS]
    return subprocess.run([*command, "--continue-on-failure", *wanted], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
