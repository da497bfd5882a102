"""`memoryos encryption` as people use it: real processes, real files."""

from __future__ import annotations

import json

import pytest

import same_process

pytestmark = pytest.mark.file


@pytest.fixture
def run(tmp_path):
    def call(*arguments, key=None, **variables):
        keys = {"MEMORYOS_ENCRYPTION_KEY": key} if key else {}
        return same_process.memoryos(*arguments, cwd=tmp_path, COLUMNS="160", **keys, **variables)

    return call


@pytest.fixture
def key(run):
    return document(run("encryption", "new-key", "--json"))["key"]


def document(result):
    assert (result.returncode, result.stderr) == (0, "")
    return json.loads(result.stdout)


def refused(result, told):
    assert result.returncode == 1
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    return True


def test_a_store_is_encrypted_from_its_beginning(run, key, tmp_path):
    assert run("add", "I keep bees.", key=key).returncode == 0
    assert document(run("encryption", "status", "--json")) == {"is_encrypted": True, "keys": 1}
    assert document(run("search", "bees", "--json", key=key))["hits"]
    assert refused(run("search", "bees"), "is encrypted: set MEMORYOS_ENCRYPTION_KEY")
    wrong = run("search", "bees", key="w" * 40)
    assert refused(wrong, "is encrypted with another key")
    assert "w" * 40 not in wrong.stderr
    told = json.loads(run("search", "bees", "--json", key="w" * 40).stdout)
    assert told["error"]["type"] == "WrongKey"
    assert b"bees" not in (tmp_path / "memoryos.db").read_bytes()


def test_a_store_is_encrypted_later_and_decrypted(run, key, tmp_path):
    run("add", "I keep bees.")
    assert refused(run("search", "bees", key=key), "is not encrypted")
    assert "is not encrypted." in run("encryption", "status").stdout
    assert "memoryos.db is encrypted." in run("encryption", "encrypt", key=key).stdout
    assert b"bees" not in (tmp_path / "memoryos.db").read_bytes()
    assert document(run("search", "bees", "--json", key=key))["hits"]
    assert document(run("encryption", "reencrypt", "--json", key=key))["is_encrypted"] is True
    assert "is decrypted." in run("encryption", "decrypt", key=key).stdout
    assert document(run("search", "bees", "--json"))["hits"]


def test_a_key_is_rotated(run, key, tmp_path):
    run("add", "I keep bees.", key=key)
    assert run("encryption", "new-key", "new.key").returncode == 0
    assert (tmp_path / "new.key").stat().st_mode & 0o777 == 0o600
    assert run("encryption", "new-key", "new.key").returncode == 2
    made = (tmp_path / "new.key").read_text()
    assert len(run("encryption", "new-key").stdout) == len(made)
    rotate = ("encryption", "rotate", "--new-key-file", "new.key")
    assert "Keys that open it: 2." in run(*rotate, "--keep-old", key=key).stdout
    for one in (key, made.strip()):
        assert document(run("search", "bees", "--json", key=one))["hits"]
    assert document(run(*rotate, "--json", key=made.strip())) == {"store": "memoryos.db", "keys": 1}
    assert refused(run("search", "bees", key=key), "another key")
    assert document(run("search", "bees", "--json", MEMORYOS_ENCRYPTION_KEY_FILE="new.key"))["hits"]


def test_what_is_wrong_is_told(run, key, tmp_path):
    assert run("encryption", "encrypt").returncode == 2
    short = run("add", "I keep bees.", key="short")
    assert (short.returncode, "MEMORYOS_ENCRYPTION_KEY" in short.stderr, "short" in short.stderr) == (2, True, False)
    missing = run("encryption", "rotate", "--new-key-file", "missing", key=key)
    assert (missing.returncode, "--new-key-file: missing cannot be read" in missing.stderr) == (2, True)
    assert not (tmp_path / "memoryos.db").exists()
