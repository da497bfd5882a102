"""The script of the public MemoryOS's introduction runs as it stands; only its key and URL are filled in."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import forked

from .conftest import KEY
from .scripted_model import Reply, says

pytestmark = pytest.mark.file  # as it stands, the script keeps a file

SCRIPT = Path(__file__).parent / "seed_004_script.py"


def run_script(folder, url):
    """Run it as its own process, with nothing changed but the two constants that it asks the reader to fill in."""
    original = SCRIPT.read_text("utf-8")
    filled = original.replace('"YOUR_OPENAI_API_KEY"', f'"{KEY}"').replace('BASE_URL = ""', f'BASE_URL = "{url}"')
    assert sum(a != b for a, b in zip(original.splitlines(), filled.splitlines(), strict=True)) == 2
    return subprocess.run([forked.executable(), "-c", filled], cwd=folder, capture_output=True, text=True, timeout=120)


def test_two_processes_one_after_the_other_and_the_second_remembers_the_first(tmp_path, model):
    model.will(says("You are a data scientist in San Francisco."), says("Still a data scientist."))
    first = run_script(tmp_path, model.url)
    assert (first.returncode, first.stderr) == (0, "")
    assert "Agent: You are a data scientist in San Francisco." in first.stdout
    assert "I'm Tom, I work as a data scientist" in model.prompt
    assert "You are a data scientist in San Francisco." not in model.prompt
    assert model.requests[-1]["model"] == "gpt-4o-mini"

    second = run_script(tmp_path, model.url)
    assert (second.returncode, second.stderr) == (0, "")
    assert "Agent: Still a data scientist." in second.stdout
    assert "You are a data scientist in San Francisco." in model.prompt
    assert "I'm Tom, I work as a data scientist" in model.prompt
    assert len(model.requests) == 2


def test_an_outage_is_an_error_in_the_script_and_never_a_memory(tmp_path, model):
    model.will(*[Reply(status=500)] * 3, says("Hello again, Tom."))
    failed = run_script(tmp_path, model.url)
    assert failed.returncode != 0
    assert "ModelUnavailable" in failed.stderr
    assert KEY not in failed.stderr + failed.stdout
    recovered = run_script(tmp_path, model.url)
    assert "Agent: Hello again, Tom." in recovered.stdout
    assert "Error" not in model.prompt
