"""The examples of the documents run as they stand."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from contextvars import Context
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

import forked

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OUTPUT = r"(.*?)```(?:\n\n```output\n(.*?)```)?"
EXAMPLE = re.compile(rf"```python\n{OUTPUT}", re.DOTALL)  # a program, and what it prints
COMMANDS = re.compile(rf"```console\n{OUTPUT}", re.DOTALL)  # commands, and what they print
EXAMPLES = [
    pytest.param(code, printed, id=f"{document.name}-{number}")
    for document in DOCUMENTS
    for number, (code, printed) in enumerate(EXAMPLE.findall(document.read_text("utf-8")), 1)
]
IMPORTED = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
SHOWING = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]

NOT_RUN = [  # ```python not run, it needs ...
    pytest.param(code, id=f"{document.name}-{number}")
    for document in DOCUMENTS
    for number, code in enumerate(
        re.findall(r"```python not run.*?\n(.*?)```", document.read_text("utf-8"), re.DOTALL), 1
    )
]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """run(code): what it prints, as a program of its own where it starts others: forked, as they are."""

    def told(code):
        if "sys.executable" in code:
            command = [forked.executable(), "-W", "error", "-c", code]
            patient = forked.settings(MEMORYOS_UPSTREAM_MEMORY_SECONDS="60")  # a busy machine is no slow memory
            done = subprocess.run(command, cwd=tmp_path, env=patient, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            return done.stdout
        monkeypatch.chdir(tmp_path)
        monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        with mock.patch.dict(os.environ, forked.settings(), clear=True):
            Context().run(exec, compile(code, "example", "exec"), vars(sys.modules["__main__"]))
        return capsys.readouterr().out

    return told


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_python_example_prints_what_is_shown(run, code, printed):
    told = run(code)
    assert told.strip(), "an example that shows nothing explains nothing"
    assert not printed or is_printed(printed, told), told


def is_printed(shown, printed):
    """Whether an output is the one that is shown, in which ... stands for anything."""
    pattern = ".*".join(map(re.escape, shown.split("...")))
    return bool(re.fullmatch(pattern, printed, re.DOTALL))


@pytest.mark.parametrize(
    ("shown", "same"), [("a\nb\n", True), ("a\n", False), ("...b\n", True), ("b\n", False), ("", False)]
)
def test_an_output_is_compared_as_a_whole(shown, same):
    assert is_printed(shown, "a\nb\n") is same


@pytest.mark.parametrize("document", SHOWING, ids=lambda document: document.name)
def test_every_example_of_the_first_pages_shows_what_it_prints(document):
    assert [code for code, printed in EXAMPLE.findall(document.read_text("utf-8")) if not printed] == []


def test_an_output_follows_its_example():
    for document in DOCUMENTS:
        text = document.read_text("utf-8")
        shown = [*EXAMPLE.findall(text), *COMMANDS.findall(text)]
        assert text.count("```output\n") == sum(bool(printed) for _, printed in shown)


@pytest.mark.parametrize("code", NOT_RUN)
def test_python_example_that_needs_more_than_a_clone_is_python(code):
    assert compile(code, "example", "exec").co_names, "an example that names nothing shows nothing"


@pytest.mark.parametrize("document", SHOWING, ids=lambda path: path.name)
def test_a_page_names_the_package_of_others_that_its_examples_import(document):
    text = document.read_text("utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    named = re.findall(r"[\w-]+", " ".join(re.findall(r"`(pip install [^`]+|[\w-]+)`", prose)))
    for module in {name for code, _ in EXAMPLE.findall(text) for name in IMPORTED.findall(code)}:
        if module not in sys.stdlib_module_names | {"memoryos"}:
            assert _installed_by(module) & {*named}, f"how {module} is installed is told nowhere"


def _installed_by(module: str) -> set[str]:
    """The names after `pip install` that bring a module: its distributions, and extras with one of them."""
    made_of = {one.lower() for one in packages_distributions()[module]}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = {extra: {re.split(r"[>=<\[]", one)[0] for one in needs} for extra, needs in extras.items()}
    return made_of | {extra for extra, needs in named.items() if needs & made_of}


def test_no_example_replaces_what_a_mark_or_an_id_may_contain():
    """Those are hexadecimal digits that differ each time."""
    replaced = [text for code in EXAMPLES for text in re.findall(r"\.replace\(\"([^\"]+)\"", code.values[0])]
    assert replaced
    assert [text for text in replaced if re.fullmatch("[0-9a-f-]+", text)] == []


def test_the_quick_start_finds_what_it_added(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", EXAMPLES[0].values[0]], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert "Lisbon" in result.stdout.splitlines()[0]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_links_between_documents_lead_somewhere(document):
    targets = re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_every_module_of_the_code_tour_exists():
    tour = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
    paths = re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py|(?:[a-z_]+/)+)`", tour)
    root = ROOT / "src" / "memoryos"
    assert paths
    assert [
        path
        for path in paths
        if not (root / path).exists() and not list(root.rglob(path.rstrip("/"))) and not (ROOT / path).exists()
    ] == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 100


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_links_lead_to_a_heading_that_exists(document):
    targets = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text("utf-8"))
    for name, anchor in targets:
        page = (document.parent / name) if name else document
        headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
        assert anchor in {_anchor(heading) for heading in headings}


def _anchor(heading: str) -> str:
    """A heading's anchor as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def test_the_reference_says_what_the_code_says():
    checked = forked.python("-m", "build_reference", "--check", cwd=ROOT / "tools")
    assert checked.returncode == 0, checked.stderr


def test_the_reference_describes_every_field_of_every_value():
    page = (ROOT / "docs" / "reference" / "values.md").read_text("utf-8")
    headings = set(re.findall(r"^### (\w+)$", page, re.MULTILINE))
    assert {
        "Hit",
        "TurnHit",
        "Recall",
        "Context",
        "Listing",
        "MemCube",
        "Profile",
        "Persona",
        "Stats",
        "Scope",
    } <= headings
    cells = [re.split(r"(?<!\\)\|", row)[1:-1] for row in re.findall(r"^\| `.*$", page, re.MULTILINE)]
    assert len(cells) > 200
    assert [row for row in cells if not row[-1].strip()] == []


def test_the_reference_has_the_functions_of_the_package():
    page = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
    assert "## `memoryos.open(path, *, user," in page
    assert "## `memoryos.load_settings(" in page


def test_the_quick_starts_that_a_tool_tries_from_a_wheel_are_examples_with_an_output():
    spec = importlib.util.spec_from_file_location("quick_starts", ROOT / "tools" / "try_quick_starts.py")
    tool = importlib.util.module_from_spec(spec)
    sys.modules["quick_starts"] = tool  # its data classes look their module up
    spec.loader.exec_module(tool)
    assert len(tool.QUICK_STARTS) == 4
    for one in tool.QUICK_STARTS:
        code, shown = one.block
        assert (code, shown) in [example.values for example in EXAMPLES]
        assert shown and tool.is_printed(shown, shown.replace("...", "anything"))
        assert not one.extra or f"`{one.extra}`" in (ROOT / one.page).read_text("utf-8")
