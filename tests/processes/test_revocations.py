"""What is taken back in one process is gone in another one that is open, from its next call on."""

from __future__ import annotations

import json
from pathlib import Path

import forked
from memoryos import Caller, Memory, MemoryOS, load_settings
from memoryos.errors import PermissionDenied
from memoryos.models.hashing import Hashing

POLICIES = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"doctor", action == Action::"read", resource);
permit (principal == User::"operator", action == Action::"administer", resource is Store);
"""


def reads(memory: Memory) -> bool:
    try:
        return bool(memory.search("bees").hits)
    except PermissionDenied:
        return False


def test_keys_roles_delegations_and_policies_of_another_process_count_at_once(place, tmp_path: Path) -> None:
    rules = tmp_path / "clinic.cedar"
    rules.write_text(POLICIES)

    def command(*words: str) -> dict:
        told = {"MEMORYOS_EMBEDDER": "hashing", "MEMORYOS_POLICIES": str(rules)}
        done = forked.memoryos(*words, "--db", place, "--json", cwd=tmp_path, **told)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    settings = load_settings(embedder="hashing")
    with MemoryOS.open(place, policies=rules, settings=settings, embedder=Hashing()) as store:
        store.memory("ann").add("I keep bees.")
        made = command("keys", "create", "lee", "--role", "doctor")
        lee = store.memory("ann", caller=store.keys.caller(made["key"]))
        kim, ben = (store.memory("ann", caller=Caller(name)) for name in ("kim", "ben"))
        assert [reads(one) for one in (lee, kim, ben)] == [True, False, False]
        granted = command("roles", "grant", "kim", "doctor", "--ttl", "1h")
        passed_on = command("governance", "delegate", "ben", "--user", "ann", "--ttl", "1h")
        assert [reads(one) for one in (lee, kim, ben)] == [True, True, True]
        command("keys", "revoke", made["id"])
        assert [reads(one) for one in (lee, kim, ben)] == [False, True, True]
        command("roles", "revoke", granted["id"])
        assert [reads(one) for one in (lee, kim, ben)] == [False, False, True]
        command("governance", "revoke", passed_on["id"], "--user", "ann")
        assert [reads(one) for one in (lee, kim, ben)] == [False, False, False]
        rules.write_text(POLICIES.replace('in Role::"doctor"', '== User::"kim"'))
        assert [reads(one) for one in (lee, kim, ben)] == [False, True, False]
