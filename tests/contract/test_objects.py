"""What an object store does, whichever it is."""

from __future__ import annotations

import sys

import pytest

from contract.objects import LocalFolder, S3Bucket
from contract.s3 import S3
from memoryos import load_settings
from memoryos.errors import InvalidInput, MissingExtra, ObjectsUnreachable
from memoryos.infrastructure.cold.objects import open_objects
from memoryos.infrastructure.cold.packs import Packs


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = S3(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["folder", "s3"])
def place(request, tmp_path, monkeypatch):
    if request.param == "folder":
        return LocalFolder(tmp_path)
    server = request.getfixturevalue("server")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return S3Bucket(server, tmp_path.name)


@pytest.mark.parametrize("data", [b"", b"one", bytes(range(256)) * 40_000])
def test_what_was_put_is_got(place, data):
    open_objects(place.url).put("name", data)
    assert open_objects(place.url).get("name") == data
    assert [path.name for path in place.folder.iterdir()] == ["name"]


def test_what_is_not_there_is_none_and_can_be_removed(place):
    objects = open_objects(place.url)
    objects.put("name", b"one")
    objects.remove("name")
    objects.remove("name")
    assert objects.get("name") is None


def test_one_that_is_away_is_an_error_for_each_call_until_it_is_back(place):
    objects = open_objects(place.url)
    objects.put("name", b"one")
    place.go_away()
    try:
        for call in (lambda: objects.get("name"), lambda: objects.put("other", b""), lambda: objects.remove("name")):
            with pytest.raises(ObjectsUnreachable):
                call()
    finally:
        place.come_back()
    assert objects.get("name") == b"one"
    assert objects.get("other") is None


def test_a_wrong_key_is_an_error_that_does_not_tell_it(server, monkeypatch):
    for name, value in {**server.environment, "AWS_SECRET_ACCESS_KEY": "guessed"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ObjectsUnreachable) as caught:
        open_objects("s3://packs/some").put("name", b"one")
    assert "guessed" not in str(caught.value)


def test_a_folder_that_a_killed_process_wrote_to_is_cleaned_with_the_pack(tmp_path):
    objects = open_objects(tmp_path.as_uri())
    (tmp_path / "name.0190.partial").write_bytes(b"ha")
    (tmp_path / "other.0190.partial").write_bytes(b"ha")
    objects.remove("name")
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
