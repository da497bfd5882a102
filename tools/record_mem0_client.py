"""Record what the real client of mem0 sends to a server, and what it gets, for tests/frameworks/test_mem0_rest.py.

The client needs mem0ai: 225 MB, and an older protobuf than pymilvus, so it is not among the development tools. Install
it in an environment of its own, start `memoryos serve` on a new store without keys, and name its address:

    python3 -m venv /tmp/mem0 && /tmp/mem0/bin/pip install mem0ai==2.2.1
    memoryos serve --db /tmp/new.db
    MEM0_TELEMETRY=False MEM0_DIR=/tmp/mem0 /tmp/mem0/bin/python tools/record_mem0_client.py http://127.0.0.1:8765
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[1] / "tests" / "frameworks" / "mem0_client.json"
KEY = "m0-anything"
MEMORY_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}\.\w+")
VARIES = ("created_at", "updated_at", "score", "detail", "fix")


class Recorder:
    """Notes each request with its answer; ids are numbered, and times and scores left out."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        self.noted: list[dict[str, Any]] = []

    def note(self, response: Any) -> None:
        response.read()
        sent = response.request
        self.noted.append(
            {
                "verb": sent.method,
                "path": self.plain(sent.url.raw_path.decode()),
                "authorization": sent.headers["authorization"],
                "body": json.loads(self.plain(sent.content.decode())) if sent.content else None,
                "status": response.status_code,
                "answer": steady(json.loads(self.plain(response.text))),
            }
        )

    def plain(self, text: str) -> str:
        return MEMORY_ID.sub(lambda found: self.ids.setdefault(found[0], f"ID{len(self.ids)}"), text)


def steady(told: Any) -> Any:
    """An answer without what differs from run to run."""
    if isinstance(told, dict):
        return {name: None if name in VARIES and one is not None else steady(one) for name, one in told.items()}
    return [steady(one) for one in told] if isinstance(told, list) else told


def talk(client: Any) -> None:
    """Call each method of the client that has an address here."""
    said = [{"role": "user", "content": "我搬到里斯本了。"}, {"role": "assistant", "content": "How lovely!"}]
    client.add(said, user_id="ann/ä", metadata={"topic": "home"}, timestamp=1_780_000_000, infer=False)
    client.add("I keep bees.", filters={"user_id": "ann/ä"}, infer=False, expiration_date="2999-12-31")
    client.add("I keep notes.", agent_id="coder", infer=False)
    client.search("里斯本", filters={"AND": [{"user_id": "ann/ä"}, {"topic": "home"}]}, top_k=1, threshold=0.1)
    listed = client.get_all(filters={"user_id": "ann/ä"})["results"]
    client.get_all(filters={"user_id": "ann/ä"}, page=2, page_size=2)
    one = listed[0]["id"]
    client.get(one)
    client.update(one, text="I keep wasps.", metadata={"topic": "garden"})
    client.batch_update([{"memory_id": listed[1]["id"], "text": "How nice!"}])
    client.history(one)
    client.users()
    client.delete(one)
    client.batch_delete([{"memory_id": listed[1]["id"]}])
    for refused in (lambda: client.get(one), lambda: client.search("x", filters={"user_id": "b"}, latest_only=True)):
        try:
            refused()
        except Exception as error:  # noqa: BLE001 - the classes are those of the client
            print(type(error).__name__)
    client.delete_all(user_id="ann/ä")
    client.delete_users(agent_id="coder")
    client.get_all(filters={"user_id": "ann/ä"})


def main() -> None:
    import httpx
    from mem0 import MemoryClient

    recorder = Recorder()
    with httpx.Client(event_hooks={"response": [recorder.note]}, trust_env=False) as http:
        talk(MemoryClient(api_key=KEY, host=f"{sys.argv[1]}/mem0", client=http))
    document = {"client": importlib.metadata.version("mem0ai"), "requests": recorder.noted}
    OUT.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"{len(recorder.noted)} requests")


if __name__ == "__main__":
    main()
