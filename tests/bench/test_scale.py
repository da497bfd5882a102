"""`memoryos bench scale`, on both stores."""

from __future__ import annotations

import json

import pytest

from contract import server

ARGUMENTS = [
    "--tenants",
    "2,3",
    "--pages",
    "20",
    "--large",
    "60",
    "--searches",
    "10",
    "--embedder",
    "hashing",
    "--json",
]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "scale.db")
    else:
        yield server.new_database().render_as_string(hide_password=False)


def test_each_step_is_measured_and_a_store_with_memories_is_left_alone(bench, place):
    done = bench("scale", "--db", place, *ARGUMENTS)
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)["steps"]
    assert [(step["tenants"], step["pages"]) for step in steps] == [(2, 20), (3, 20), (1, 60)]
    for step in steps:
        assert step["within_ms"]["p95"] >= step["within_ms"]["p50"] > 0
        assert step["roaming_ms"]["p95"] >= step["roaming_ms"]["p50"] > 0
        assert step["stored_pages_per_s"] > 0
        assert step["bytes_per_page"] > 0
        assert step["rss_mb"] > 10
    assert [step["moved_out_s"] is not None for step in steps] == [False, False, "://" in place]
    again = bench("scale", "--db", place, *ARGUMENTS)
    assert again.returncode != 0
    assert "--db: holds memories" in again.stdout
