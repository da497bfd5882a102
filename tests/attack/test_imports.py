"""Files that are small to write and large to read are refused before they take memory or minutes."""

from __future__ import annotations

import resource
import subprocess
import sys
from codecs import BOM_UTF8
from collections.abc import Callable
from datetime import UTC
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from memoryos import MemoryOS, Settings
from memoryos.errors import InvalidInput
from memoryos.importers import source
from memoryos.importers.gvd import read_gvd
from memoryos.importers.locomo import read_locomo
from memoryos.importers.memoryos_folder import read_folder
from memoryos.importers.recall_set import read_recall_set
from memoryos.interface.cli.chat_messages import messages_in
from memoryos.interface.cli.dialogue_file import dialogue_in
from memoryos.json_size import has_more_values
from memoryos.operation.portability import content_marks, export_file

pytestmark = pytest.mark.file

MEMORY_MB = 1_500  # of a process that reads any of these
SESSIONS = b'{"conversations":[{"user":"a","sessions":['
FILES: dict[str, Callable[[int], bytes]] = {  # by their length
    "empty lists": lambda size: b"[" + b"[]," * (size // 3) + b"[]]",
    "empty objects": lambda size: b"[" + b"{}," * (size // 3) + b"{}]",
    "numbers": lambda size: b"[" + b"1," * (size // 2) + b"1]",
    "deep lists": lambda size: b"[" * size,
    "deep objects": lambda size: b'{"a":' * (size // 5),
    "keys": lambda size: b"{" + b",".join(b'"%07d":1' % number for number in range(size // 12)) + b"}",
    "a string": lambda size: b'"' + b"\\n" * (size // 2) + b'"',
    "an open string": lambda size: b'["' + b'\\"' * (size // 2),
    "sessions": lambda size: (
        b'{"conversations":[{"user":"a","sessions":[' + b"{}," * (size // 3) + b'{}]}],"questions":[]}'
    ),
}
READERS: dict[str, Callable[[Path], object]] = {"locomo": read_locomo, "gvd": read_gvd, "recall": read_recall_set}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("reader", READERS)
def test_a_wrong_file_of_any_form_is_refused(tmp_path, reader, kind):
    path = tmp_path / "data.json"
    path.write_bytes(FILES[kind](600_000))
    with pytest.raises(InvalidInput) as refused:
        READERS[reader](path)
    assert str(path) in refused.value.field
    assert len(str(refused.value)) < 1_000


@pytest.mark.parametrize("kind", ["deep lists", "empty objects"])
def test_a_folder_of_the_public_code_is_refused_likewise(tmp_path, kind):
    folder = tmp_path / "users" / "ann"
    folder.mkdir(parents=True)
    (folder / "short_term.json").write_bytes(FILES[kind](600_000))
    with pytest.raises(InvalidInput, match=r"short_term\.json"):
        read_folder(tmp_path, user="ann", assistant="bot", zone=UTC)


def test_more_values_than_the_limit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MOST_VALUES", 10)
    path = tmp_path / "data.json"
    path.write_bytes(b'[[],[],[],[],["a, b, c, d, e, f, [{[{"]]')
    with pytest.raises(InvalidInput, match=r"more than 10 values.*Split it"):
        read_locomo(path)
    monkeypatch.setattr(source, "MOST_VALUES", 12)
    with pytest.raises(InvalidInput, match="LoCoMo"):  # commas in a string are words
        read_locomo(path)


def test_more_bytes_than_the_limit_are_not_read(monkeypatch):
    monkeypatch.setattr(source, "MOST_BYTES", 1_000_000)
    with pytest.raises(InvalidInput, match="more than 1 MB"):
        read_locomo(Path("/dev/zero"))


@pytest.mark.parametrize("place", ["chat.json", "-"])
@pytest.mark.parametrize("read", [lambda place: messages_in(Path(place)), dialogue_in], ids=["messages", "dialogue"])
def test_messages_with_more_values_than_the_limit_are_not_parsed(tmp_path, monkeypatch, read, place):
    monkeypatch.setattr(source, "MOST_VALUES", 10)
    said = b"[" + b"{}," * 10 + b"{}]"
    (tmp_path / "chat.json").write_bytes(said)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(said)))
    with pytest.raises(InvalidInput, match=r"more than 10 values.*Split it"):
        read(place)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b" \n\n"])
def test_each_line_of_messages_counts_as_a_value(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(source, "MOST_VALUES", 10)
    path = tmp_path / "chat.jsonl"
    path.write_bytes(ending.join([b"1", b'"a, b"'] * 6))
    with pytest.raises(InvalidInput, match="more than 10 values"):
        messages_in(path)
    path.write_bytes(b'[\n 1,\n 2,\n {"a" :\n "b\n c\n d"\n},\n [\n ]\n]\n')
    assert not has_more_values(path.read_bytes(), 7)


def test_a_mark_of_the_byte_order_hides_no_messages(tmp_path, monkeypatch):
    path = tmp_path / "chat.jsonl"
    path.write_bytes(BOM_UTF8 + b'{"role": "user", "content": "hi"}\n' * 40)
    monkeypatch.setattr(source, "MOST_BYTES", path.stat().st_size - 1)
    with pytest.raises(InvalidInput, match="--messages: has more than"):
        messages_in(path)
    monkeypatch.setattr(source, "MOST_BYTES", path.stat().st_size)
    assert len(messages_in(path)) == 40


def test_messages_of_more_bytes_than_the_limit_are_not_read(monkeypatch):
    monkeypatch.setattr(source, "MOST_BYTES", 1_000_000)
    with pytest.raises(InvalidInput, match="--messages: has more than 1 MB"):
        messages_in(Path("/dev/zero"))


READ = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
from memoryos.errors import InvalidInput
from memoryos.importers.locomo import read_locomo
try:
    read_locomo(Path(sys.argv[1]))
except InvalidInput:
    print("refused")
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="no limit of memory here")
@pytest.mark.parametrize(
    ("kind", "megabytes"),
    [("empty lists", 60), ("empty objects", 1.4), pytest.param("keys", 11.5, marks=pytest.mark.long)],
)
def test_a_large_one_is_refused_within_a_bound_of_memory(tmp_path, kind, megabytes):
    path = tmp_path / "data.json"
    path.write_bytes(FILES[kind](int(megabytes * 1_000_000)))
    limit = str(MEMORY_MB * 1_000_000)
    told = subprocess.run([sys.executable, "-c", READ, path, limit], capture_output=True, text=True, check=False)
    assert told.stdout == "refused\n", told.stderr[-500:]


@pytest.mark.parametrize("kind", ["empty lists", "empty objects"])
def test_a_line_of_an_export_with_too_many_values_is_not_parsed(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(export_file, "MOST_VALUES", 10_000)
    path = tmp_path / "export.jsonl"
    path.write_bytes(b'{"format":' + FILES[kind](200_000) + b"}\n")
    with MemoryOS.open(tmp_path / "a.db", settings=Settings(embedder="hashing")) as store:
        for read in (store.admin.load, store.admin.verify_mark):
            with pytest.raises(InvalidInput, match=r"more than 22,5.. values"):
                read(path)


def test_a_long_line_of_an_export_with_ids_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(export_file, "MOST_VALUES", 10)
    path = tmp_path / "export.jsonl"
    path.write_text("[" + ",".join(f'"01a21c99-25f9-742a-b0c6-{number:012}"' for number in range(1_000)) + "]\n")
    assert list(export_file.read_lines(path)) == [path.read_text()]


def test_of_a_file_without_a_mark_no_more_is_read_than_one_line_may_have(tmp_path, monkeypatch):
    read = list[int]()

    def lines():
        for number in range(1_000):
            read.append(number)
            yield "{" * 500

    monkeypatch.setattr(content_marks, "LONGEST_LINE", 1_200)
    with pytest.raises(InvalidInput, match="begins with no JSON object"):
        content_marks.checked_lines(lines(), b"key")
    assert len(read) == 4
