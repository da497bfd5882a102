"""What an object store does, whichever it is."""

from __future__ import annotations

import sys

import pytest

from memoryos import load_settings
from memoryos.errors import InvalidInput, MissingExtra, ObjectsUnreachable
from memoryos.infrastructure.cold.objects import open_objects
from memoryos.infrastructure.cold.packs import Packs


@pytest.mark.parametrize("data", [b"", b"one", bytes(range(256)) * 40_000])
def test_what_was_put_is_got(objects, data):
    open_objects(objects.url).put("name", data)
    assert open_objects(objects.url).get("name") == data
    assert [path.name for path in objects.folder.iterdir()] == ["name"]


def test_what_is_not_there_is_none_and_can_be_removed(objects):
    store = open_objects(objects.url)
    store.put("name", b"one")
    store.remove("name")
    store.remove("name")
    assert store.get("name") is None


def test_one_that_is_away_is_an_error_for_each_call_until_it_is_back(objects):
    store = open_objects(objects.url)
    store.put("name", b"one")
    objects.go_away()
    try:
        for call in (lambda: store.get("name"), lambda: store.put("other", b""), lambda: store.remove("name")):
            with pytest.raises(ObjectsUnreachable):
                call()
    finally:
        objects.come_back()
    assert store.get("name") == b"one"
    assert store.get("other") is None


def test_a_wrong_key_is_an_error_that_does_not_tell_it(s3_server, monkeypatch):
    for name, value in {**s3_server.environment, "AWS_SECRET_ACCESS_KEY": "guessed"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ObjectsUnreachable) as caught:
        open_objects("s3://packs/some").put("name", b"one")
    assert "guessed" not in str(caught.value)


def test_a_folder_that_a_killed_process_wrote_to_is_cleaned_with_the_pack(tmp_path):
    store = open_objects(tmp_path.as_uri())
    (tmp_path / "name.0190.partial").write_bytes(b"ha")
    (tmp_path / "other.0190.partial").write_bytes(b"ha")
    store.remove("name")
    assert [path.name for path in tmp_path.iterdir()] == ["other.0190.partial"]


@pytest.mark.parametrize("url", ["", "folder", "file://host/folder", "file:///", "s3://", "ftp://host/x", "/tmp/x"])
def test_what_is_no_object_store_is_refused(url):
    with pytest.raises(InvalidInput, match="object_store"):
        open_objects(url)


def test_a_store_without_one_has_none():
    assert load_settings().object_store is None
    assert not Packs().are_kept
    with pytest.raises(ObjectsUnreachable, match="MEMORYOS_OBJECT_STORE"):
        Packs().read("name")


def test_without_the_extra_a_bucket_names_it_and_a_folder_needs_none(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingExtra, match="cold"):
        open_objects("s3://packs/some")
    open_objects(tmp_path.as_uri()).put("name", b"one")
