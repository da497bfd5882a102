"""SIGKILL at every step between bytes and the page that refers to them: no reference is left without its bytes."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from crash.killed import steps
from crash.stores import SETTINGS, open_store
from crash.victims import PICTURE
from memoryos import Memory, stores
from memoryos.clock import system_clock
from memoryos.infrastructure.objects.blobs import folder_beside

PICTURE_ID = sha256(PICTURE).hexdigest()


def pages_with_pictures(memory: Memory) -> list[str]:
    return [page.id for page in memory.pages.list() if memory.pages.attachments(page.id)]


def objects(path: Path) -> list[str]:
    folder = folder_beside(path)
    return [one.name for one in folder.iterdir()] if folder.exists() else []


@pytest.mark.parametrize("scenario", ["attach", "detach"])
def test_a_page_and_its_bytes_are_there_together_or_not_at_all(victims, template, tmp_path, scenario):
    found = victims(scenario, template, tmp_path)
    assert steps(found) >= 28
    outcomes = []
    for victim in found:
        assert stores.verify(victim.path, settings=SETTINGS).is_sound
        with open_store(victim.path) as memory:
            pages = pages_with_pictures(memory)
            for page in pages:
                assert memory.pages.attachment(page, PICTURE_ID).data == PICTURE
            if victim.done is not None:
                assert pages == ([victim.done] if scenario == "attach" else [])
        with open_store(victim.path, lambda: system_clock() + timedelta(hours=2)) as memory:
            memory.jobs.run()
            assert len(objects(victim.path)) == len(pages), "what nobody refers to is swept"
            assert pages_with_pictures(memory) == pages
        assert stores.verify(victim.path, settings=SETTINGS).is_sound
        outcomes.append(bool(pages))
    assert set(outcomes) == {False, True}, "some died before the page was stored or deleted, and some after"
