"""Claims of documents and comments that the code can check."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from hypothesis import settings

import memoryos
from attack import test_fence, test_fuzz, test_interrupts
from attack.conftest import FUZZ_SECONDS, LONG_FUZZ_SECONDS
from generation.test_forgery import few
from memoryos import Attachment, load_settings
from memoryos.kinds import Origin, State, Trust
from memoryos.lifecycle import TRANSITIONS, Actor
from memoryos.operation.recall.trust import TRUST_OF

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
SOURCE = Path(memoryos.__file__).parent
STORAGE = (ROOT / "docs" / "explanation" / "storage.md").read_text("utf-8")


def takes_a_key(call: str) -> bool:
    """Whether a function that a document names has the parameter `idempotency_key`."""
    owner, _, name = call.rpartition(".")
    function = getattr(getattr(memoryos, owner or "Memory"), name)
    return "idempotency_key" in inspect.signature(function).parameters


def test_what_storage_says_to_take_a_key_takes_one():
    (sentence,) = re.findall(r"^- (.+?) take a key\.", STORAGE, re.MULTILINE | re.DOTALL)
    calls = [call for call in re.findall(r"`([^`]+)`", sentence) if not call.startswith("memoryos ")]
    assert len(calls) > 3
    assert [call for call in calls if not takes_a_key(call)] == []


def test_links_that_are_called_reserved_are_used_nowhere():
    code = {path.name: path.read_text("utf-8") for path in SOURCE.rglob("*.py") if path.name != "strays.py"}
    reserved = re.findall(r"^    ([A-Z_]+) = .*# .*reserved", code["records.py"], re.MULTILINE)
    assert reserved
    assert [name for name in reserved for text in code.values() if f"LinkKind.{name}" in text] == []


def test_the_description_of_the_package_promises_only_what_is_built():
    description = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["description"]
    assert "layered" in description
    assert "governed" not in description  # most of it is off until policies are passed


def test_the_table_of_transitions_is_that_of_the_code():
    page = (ROOT / "docs" / "explanation" / "governance.md").read_text("utf-8")
    rows = re.findall(r"^\| ([a-z, ]+) \| ([a-z, ]+) \| (callers[^|]*?) \|$", page, re.MULTILINE)
    told = {
        (State(before), State(after)): frozenset(Actor) if "program" in by else frozenset({Actor.CALLER})
        for befores, afters, by in rows
        for before in befores.split(", ")
        for after in afters.split(", ")
    }
    assert told == dict(TRANSITIONS)


def test_the_table_of_trust_is_that_of_the_code():
    page = (ROOT / "docs" / "explanation" / "provenance.md").read_text("utf-8")
    rows = re.findall(rf"^\| ({'|'.join(Trust)}) \| ([^|]+) \|$", page, re.MULTILINE)
    told = {
        Origin(name): Trust(trust)
        for trust, meaning in rows
        for name in re.findall(r"`(\w+)`", meaning)
        if name in list(Origin)
    }
    assert told == dict(TRUST_OF)


def test_the_table_of_extras_is_that_of_the_package():
    page = (ROOT / "docs" / "how-to" / "install.md").read_text("utf-8")
    told = re.findall(r"^\| (?:none|`([\w-]+)`) \| .+ \| \d+ \|$", page, re.MULTILINE)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert sorted(filter(None, told)) == sorted(extras)
    (left_out,) = re.findall(r"^\| `all` \| all of these except (.+?) \|", page, re.MULTILINE)
    (inside,) = re.findall(r"\[(.+)\]", extras["all"][0])
    assert set(re.findall(r"`([\w-]+)`", left_out)) == extras.keys() - {"all", *inside.split(",")}


def test_what_an_import_is_said_not_to_load_is_loaded_by_opening():
    page = (ROOT / "docs" / "how-to" / "install.md").read_text("utf-8")
    assert (
        "`from memoryos import MemoryOS` loads neither the database code (SQLAlchemy)\nnor numpy nor pydantic" in page
    )
    heavy = "print([one for one in ('sqlalchemy', 'numpy', 'pydantic') if one in sys.modules])"
    code = f"import sys\nfrom memoryos import MemoryOS\n{heavy}\nMemoryOS.open(':memory:').close()\n{heavy}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == ["[]", "['sqlalchemy', 'numpy', 'pydantic']"]


def test_a_line_of_an_export_has_the_fields_that_the_page_describes(tmp_path):
    page = (ROOT / "docs" / "explanation" / "export.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (.+?) \| (.+) \|$", page, re.MULTILINE))
    with memoryos.open(tmp_path / "a.db", user="ann", settings=load_settings(embedder="hashing")) as memory:
        file = Attachment(caption="a", uri="data:image/png;base64,YQ==")
        memory.update(memory.add("I live in Oslo.", attachments=[file]), "I live in Rome.")
        memory.wait()
        memory.export(tmp_path / "a.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    assert {*lines[0]} == {*named(rows["head"]), "mark"}
    fields = {name: what for names, what in rows.items() for name in named(names)}
    told = {line["memory"]["payload"]["type"]: line for line in lines[1:-1]}
    assert {*told["page"]} == {"memory", "links", "earlier", "blobs", "mark"}
    assert {*told["page"]} - {"mark"} <= {*named(rows["memory"])}
    for cube in (told["page"]["memory"], told["page"]["earlier"][0], told["fact"]["memory"], told["profile"]["memory"]):
        assert cube.keys() <= fields.keys()
        for part in ("scope", "descriptive", "behaviour", "governance", "version"):
            assert cube[part].keys() == {*named(fields[part])}, part
    for kind in ("fact", "profile"):
        assert told[kind]["memory"]["payload"].keys() <= {*named(fields["payload"])}
    assert told["page"]["memory"]["payload"]["turns"][0].keys() <= {*named(fields["payload"])}


def named(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def test_the_files_that_the_architecture_tells_a_contributor_to_change_are_there():
    parts = re.findall(r"^## How to add .+?(?=^## )", ARCHITECTURE, re.MULTILINE | re.DOTALL)
    assert len(parts) == 5
    paths = {path for part in parts for path in re.findall(r"`([\w/]+\.py)`", part)}
    places = [
        ROOT,
        SOURCE,
        SOURCE / "interface",
        *map((SOURCE / "interface").joinpath, ("cli", "mcp", "rest")),
        SOURCE / "infrastructure",
    ]
    assert sorted(path for path in paths if not any((place / path).is_file() for place in places)) == []


def test_the_layers_that_the_architecture_draws_are_those_that_the_imports_keep():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    drawn = re.findall(r"^    .*→.*(?:\n        →.*)*", ARCHITECTURE, re.MULTILINE)
    assert len(drawn) == 2
    for picture, contract in zip(drawn, contracts, strict=False):
        layers = [one.replace("memoryos.", "").split(" | ") for one in contract["layers"]]
        assert [[name.strip() for name in one.split(",")] for one in picture.split("→")] == layers


def test_the_architecture_has_a_row_for_each_package_of_operation():
    packages = {one.parent.name for one in (ROOT / "src/memoryos/operation").glob("*/__init__.py")}
    assert packages == set(re.findall(r"^\| `operation/(\w+)/`", ARCHITECTURE, re.MULTILINE))


def test_the_table_of_attacks_has_the_numbers_of_the_tests():
    page = (ROOT / "docs/explanation/reliability.md").read_text("utf-8")
    told = {row[0]: row[1:] for row in re.findall(r"^\| ([\w ]+)[^|]* \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)}
    here, long = (few(settings.get_profile(name).max_examples) for name in ("here", "long"))
    brief, full = told["the fence"]
    assert (f", {here} texts each" in brief, f" {long * test_fence.ROUNDS:,} texts each" in full) == (True, True)
    brief, full = told["wrong arguments"]
    assert f" {test_fuzz.EXAMPLES} calls of each method and class, {test_fuzz.FEW_EXAMPLES} of each awaited" in brief
    assert f" until {FUZZ_SECONDS:.0f} s of CPU" in brief
    assert full == f"{test_fuzz.LONG_EXAMPLES}; {LONG_FUZZ_SECONDS:.0f} s"
    brief, full = told["interrupts"]
    assert f" {test_interrupts.ROUNDS} of each operation and {3 * test_interrupts.ROUNDS} of `open`" in brief
    assert full.startswith(f"{test_interrupts.LONG_ROUNDS}; ")
