"""What a store records for receipts: one key, however many processes make it, and where its copies are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

from contract.back_ends import BACK_ENDS


def test_processes_that_need_the_key_at_once_get_the_same(vault, back_end, tmp_path, clock):
    assert vault.erasure.signing_key() is None
    with ExitStack() as stack:
        vaults = [stack.enter_context(closing(BACK_ENDS[back_end](tmp_path, clock))) for _ in range(4)]
        with ThreadPoolExecutor(len(vaults)) as threads:
            keys = list(threads.map(lambda one: one.erasure.make_signing_key(), vaults))
    assert {*keys, vault.erasure.signing_key(), vault.erasure.make_signing_key()} == {keys[0]}
    assert len(keys[0]) == 32


def test_a_copy_is_recorded_once_with_its_last_time(vault, clock, tmp_path):
    file = tmp_path / "one.backup"
    for _ in range(2):
        clock.advance(hours=1)
        vault.erasure.note_copy(str(file))
        vault.erasure.note_copy("postgresql://elsewhere/memory")
    assert [one.place for one in vault.erasure.known_copies()] == ["postgresql://elsewhere/memory"], (
        "there is no such file"
    )
    file.touch()
    assert vault.erasure.known_copies()[0].place == "postgresql://elsewhere/memory"
    vault.erasure.note_copy(str(file))
    assert [(one.place, one.made_at) for one in vault.erasure.known_copies()] == [
        (str(file), clock()),
        ("postgresql://elsewhere/memory", clock()),
    ]
