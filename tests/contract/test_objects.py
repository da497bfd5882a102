"""What an object store does, whichever it is."""

from __future__ import annotations

import sys
from datetime import timedelta

import obstore
import pytest

from memoryos import load_settings
from memoryos.errors import InvalidInput, MissingExtra, ObjectsUnreachable
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.objects.object_store import open_objects

BUCKETS = ["s3", "gs", "az"]
everywhere = pytest.mark.parametrize("objects", ["folder", *BUCKETS], indirect=True)
in_each_cloud = pytest.mark.parametrize("objects", BUCKETS, indirect=True)


@everywhere
@pytest.mark.parametrize("data", [b"", b"one", bytes(range(256)) * 40_000])
def test_what_was_put_is_got(objects, data):
    open_objects(objects.url).put("name", data)
    assert open_objects(objects.url).get("name") == data
    assert [path.name for path in objects.folder.iterdir()] == ["name"]


@everywhere
def test_what_is_not_there_is_none_and_can_be_removed(objects):
    store = open_objects(objects.url)
    store.put("name", b"one")
    store.remove("name")
    store.remove("name")
    assert store.get("name") is None


@everywhere
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


@in_each_cloud
def test_a_missing_bucket_is_an_error_and_nothing_is_taken_for_removed(objects):
    store = open_objects(objects.url_of_no_bucket)
    for call in (lambda: store.get("name"), lambda: store.put("name", b"one"), lambda: store.remove("name")):
        with pytest.raises(ObjectsUnreachable, match="no such bucket"):
            call()


@in_each_cloud
def test_a_prefix_may_hold_what_urls_escape(objects):
    open_objects(f"{objects.url}/two%20words/%C3%BC/").put("name", b"one")
    assert (objects.folder / "two words" / "ü" / "name").read_bytes() == b"one"


SECRETS = {"s3": "AWS_SECRET_ACCESS_KEY", "gs": "GOOGLE_BEARER_TOKEN", "az": "AZURE_STORAGE_ACCOUNT_KEY"}


@in_each_cloud
def test_a_wrong_key_is_an_error_that_does_not_tell_it(objects, monkeypatch):
    monkeypatch.setenv(SECRETS[objects.url[:2]], "guessed1")
    with pytest.raises(ObjectsUnreachable) as caught:
        open_objects(objects.url).put("name", b"one")
    assert "guessed1" not in str(caught.value)


@pytest.mark.parametrize("objects", ["az"], indirect=True)
def test_the_account_of_the_url_counts_whatever_the_environment_names(objects, monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "another")
    monkeypatch.setenv("AZURE_CONTAINER_NAME", "another")
    open_objects(objects.url).put("name", b"one")
    assert (objects.folder / "name").read_bytes() == b"one"


def test_an_account_is_reached_at_azure_when_no_endpoint_is_set(monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "bWVtb3J5")
    store = open_objects("az://elephants/packs/herd")._store
    url = obstore.sign(store, "GET", "name", timedelta(minutes=1))
    assert url.startswith("https://elephants.blob.core.windows.net/packs/herd/name?")


@pytest.mark.parametrize(
    "url",
    ["az://elephants", "az://elephants/", "az://elephants//herd", "az://my-packs/herd", "az://packs@elephants/herd"],
)
def test_azure_without_account_or_container_is_refused_with_the_form_to_write(url):
    with pytest.raises(InvalidInput, match=r"object_store: .* az://account/container/prefix"):
        open_objects(url)


def test_a_folder_that_a_killed_process_wrote_to_is_cleaned_with_the_pack(tmp_path):
    store = open_objects(tmp_path.as_uri())
    (tmp_path / "name.0190.partial").write_bytes(b"ha")
    (tmp_path / "other.0190.partial").write_bytes(b"ha")
    store.remove("name")
    assert [path.name for path in tmp_path.iterdir()] == ["other.0190.partial"]


@pytest.mark.parametrize(
    "url",
    ["", "folder", "file://host/folder", "file:///", "s3://", "ftp://host/x", "/tmp/x", "az://elephants/packs/../x"],
)
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
