"""Diagnosis: what is configured, what is missing, and how to fix it. Nothing is made or changed, no secret is shown.

Each check is a function of the settings; one that fails is a finding, and does not keep the others from running.
"""

from __future__ import annotations

import platform
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from pydantic import SecretStr

from memoryos import arguments
from memoryos.choice import Choice
from memoryos.clock import system_clock
from memoryos.config import SERVED, ExtractorKind, Settings, unknown_variables
from memoryos.distribution import NAME, VERSION
from memoryos.errors import MemoryOSError, ModelError, ModelNotConfigured, StoreReadOnly, StoreUnreachable
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.infrastructure.vault.migrations import HEAD
from memoryos.infrastructure.vault.place import Place, check_is_there, open_vault, shown
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.infrastructure.vault.sqlite import SqliteVault
from memoryos.infrastructure.vault.sqlite.still import log_of
from memoryos.infrastructure.vault.store_state import StoreState, is_write_locked, store_state
from memoryos.models.chosen_chat import chat_of
from memoryos.models.embedder import load_embedder
from memoryos.models.endpoint import Endpoint, upstream_key
from memoryos.operation.pipelines.pipeline_file import pipeline_files, read_pipeline
from memoryos.plain import Plain
from memoryos.regex import regex

ONLINE_SECONDS = 5.0  # for an endpoint to answer
LITTLE_SPACE = 500_000_000  # bytes
NO_SPACE = 20_000_000
_BUSY_SECONDS = 2.0

# What to do about a server that does not answer.
_FIXES: Mapping[str, str] = {
    "store": "Start the database server, or correct its address (--db, MEMORYOS_DB)",
    "embedder": "Start its server, or correct MEMORYOS_EMBEDDER_BASE_URL (else MEMORYOS_LLM_BASE_URL) and its key",
    "model": "Start its server, or correct MEMORYOS_LLM_BASE_URL and MEMORYOS_LLM_API_KEY",
    "upstream": "Start the model server, or correct MEMORYOS_UPSTREAM and MEMORYOS_UPSTREAM_API_KEY",
}
_OUTCOME = regex(r"; nothing was (?:stored|written)")  # which nothing would have been here

# A module of each extra, by which it is known to be installed.
EXTRAS: Mapping[str, str] = {
    "minilm": "onnxruntime",
    "llm": "openai",
    "bench": "nltk",
    "postgres": "psycopg",
    "milvus": "pymilvus",
    "governance": "cedarpy",
    "cold": "obstore",
    "privacy": "cryptography",
    "privacy-names": "spacy",
    "encryption": "sqlcipher3",
    "server": "uvicorn",
    "mcp": "mcp",
    "telemetry": "opentelemetry.sdk",
    "yaml": "yaml",
    "local": "torch",
    "keyring": "keyring",
    "langgraph": "langgraph",
    "openai-agents": "agents",
    "llamaindex": "llama_index",
    "agent-framework": "agent_framework",
}


class Health(Choice):
    """How a check ended."""

    OK = "ok"
    OFF = "off"  # not configured, or not installed, and not needed
    WARNING = "warning"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class HealthCheck(Plain):
    """What a check found."""

    check: str  #: what was checked
    health: Health  #: how it ended
    text: str  #: what was found
    fix: str = ""  #: what to do


@dataclass(frozen=True, slots=True)
class Diagnosis(Plain):
    """All findings."""

    findings: tuple[HealthCheck, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is broken."""
        return not any(one.health is Health.BROKEN for one in self.findings)


def diagnose(store: str | Path, *, settings: Settings, online: bool = False) -> Diagnosis:
    """Check the installation, the settings, and the store, which is only read.

    With `online`, endpoints of models are asked whether they answer, for five seconds each; no content is sent.
    """
    arguments.parts(settings=settings)
    arguments.flag("online", online)
    found = [*_program(), *_configured(settings), *_extras(settings, str(store))]
    found += _safely("store", lambda: _of_store(store, settings))
    found += _safely("policies", lambda: _policies(settings))
    found += _safely("pipelines", lambda: _pipelines(settings))
    found += _safely("embedder", lambda: _embedder(settings, online))
    found += _safely("model", lambda: _model(settings, online))
    found += _safely("upstream", lambda: _upstream(settings, online))
    return Diagnosis(tuple(found))


def broken(check: str, error: MemoryOSError) -> HealthCheck:
    """The finding of a check that failed. Other errors than those of servers say themselves what to do."""
    is_of_server = isinstance(error, ModelError | StoreUnreachable)
    return HealthCheck(
        check, Health.BROKEN, _OUTCOME.sub("", str(error)), _FIXES.get(check, "") if is_of_server else ""
    )


def _safely(check: str, look: Callable[[], Iterator[HealthCheck]]) -> Iterator[HealthCheck]:
    try:
        yield from look()
    except MemoryOSError as error:
        yield broken(check, error)


def _program() -> Iterator[HealthCheck]:
    yield HealthCheck("python", Health.OK, f"Python {platform.python_version()}")
    yield HealthCheck("package", Health.OK, f"{NAME} {VERSION}")


def _configured(settings: Settings) -> Iterator[HealthCheck]:
    """Which settings are set. Of a secret, a path or a URL only the name is told."""
    told = ", ".join(_told(name, getattr(settings, name)) for name in sorted(settings.model_fields_set))
    yield HealthCheck("settings", Health.OK if told else Health.OFF, told or "all have their defaults")
    for one in unknown_variables():
        yield HealthCheck("environment", Health.WARNING, f"no setting is read from {one.name}", one.fix)


def _told(name: str, value: object) -> str:
    if isinstance(value, SecretStr):
        return f"{name} (hidden)"
    is_plain = isinstance(value, bool | int | float) or (isinstance(value, str) and "://" not in value)
    return f"{name}={value}" if is_plain else name


def _is_installed(module: str) -> bool:
    parent = module.rpartition(".")[0]
    return (not parent or _is_installed(parent)) and find_spec(module) is not None


def _extras(settings: Settings, store: str) -> Iterator[HealthCheck]:
    needed = dict(_needed(settings, store))
    for extra, module in EXTRAS.items():
        command = f"pip install '{NAME}[{extra}]'"
        if _is_installed(module):
            yield HealthCheck(f"extra {extra}", Health.OK, "installed")
        elif extra in needed:
            yield HealthCheck(f"extra {extra}", Health.BROKEN, f"missing, and {needed[extra]} needs it", command)
        else:
            yield HealthCheck(f"extra {extra}", Health.OFF, "not installed", command)


def _needed(settings: Settings, store: str) -> Iterator[tuple[str, str]]:
    """The extras that the settings need, and by which."""
    is_served, is_cloud = settings.embedder.startswith(SERVED), not str(settings.object_store).startswith("file:")
    key = settings.encryption_key or settings.encryption_key_file or settings.encryption_keyring
    needs = (
        ("minilm", "embedder", settings.embedder == "minilm"),
        ("llm", "the chat model or embedder", (settings.llm_model and not settings.is_local) or is_served),
        ("local", "the chat model", settings.is_local),
        ("postgres", "the store", "://" in store),
        ("milvus", "candidates", settings.candidates),
        ("governance", "policies", settings.policies),
        ("cold", "object_store", settings.object_store and is_cloud),
        ("privacy", "privacy_key", settings.privacy_key),
        ("privacy-names", "privacy_names", settings.privacy_names),
        ("encryption", "the encryption key", key),
        ("keyring", "encryption_keyring", settings.encryption_keyring),
        ("telemetry", "traces", settings.traces),
    )
    return ((extra, what) for extra, what, is_needed in needs if is_needed)


def _of_store(store: str | Path, settings: Settings) -> Iterator[HealthCheck]:
    place = arguments.store_place(store)
    yield from _safely("encryption", lambda: _encryption(place, settings))
    if isinstance(place, Path):
        yield _space(place)
        if not place.exists():
            yield _not_there(place)
            return
        yield from _permissions(place, settings)
    check_is_there("store", place)
    key = EncryptionKey.of(settings)
    try:
        opened = open_vault(
            place,
            embedder=None,
            clock=system_clock,
            busy_timeout_seconds=min(_BUSY_SECONDS, settings.busy_timeout_seconds),
            is_only_read=True,
            key=key,
        )
    except StoreReadOnly as error:  # an older schema, which only a writer can bring up to date
        yield HealthCheck("store", Health.WARNING, str(error), "Any command that writes brings its schema up to date")
        return
    with closing(opened) as vault:
        state = store_state(vault)
        yield HealthCheck(
            "store", Health.OK, f"{shown(place)}: schema {state.schema} of {HEAD}, embedder {state.embedder}"
        )
        yield _embedder_of(state, settings)
        yield _lock(vault)
        yield from _jobs(state)


def _not_there(place: Path) -> HealthCheck:
    if not place.absolute().parent.is_dir():
        return HealthCheck("store", Health.BROKEN, f"the folder {place.parent} does not exist", "Create it")
    return HealthCheck("store", Health.OFF, f"{place} does not exist; the first `memoryos add` makes it")


def _space(place: Path) -> HealthCheck:
    folder = next(one for one in (place.absolute().parent, *place.absolute().parents) if one.exists())
    free = shutil.disk_usage(folder).free
    health = Health.BROKEN if free < NO_SPACE else Health.WARNING if free < LITTLE_SPACE else Health.OK
    fix = "" if health is Health.OK else "Free some space, or move the store"
    return HealthCheck("disk", health, f"{free / 1e9:,.1f} GB free in {folder}", fix)


def _permissions(place: Path, settings: Settings) -> Iterator[HealthCheck]:
    files = [place, log_of(place), settings.encryption_key_file]
    for file in (one.expanduser() for one in files if one is not None):
        if file.exists() and (mode := stat.S_IMODE(file.stat().st_mode)) & (stat.S_IRGRP | stat.S_IROTH):
            yield HealthCheck("permissions", Health.WARNING, f"others may read {file} ({mode:o})", f"chmod 600 {file}")
            return
    yield HealthCheck("permissions", Health.OK, "only its owner may read the store")


def _encryption(place: Place, settings: Settings) -> Iterator[HealthCheck]:
    key = EncryptionKey.of(settings)
    is_encrypted = isinstance(place, Path) and KeyFile(place).exists()
    if is_encrypted and key is None:
        fix = "Set MEMORYOS_ENCRYPTION_KEY_FILE to the file with the key"
        yield HealthCheck("encryption", Health.BROKEN, "the store is encrypted, and no key is set", fix)
    else:
        told = "the store is encrypted, and a key is set" if is_encrypted else "a key is set"
        yield HealthCheck("encryption", Health.OK if key else Health.OFF, told if key else "not encrypted")


def _embedder_of(state: StoreState, settings: Settings) -> HealthCheck:
    """Whether the vectors are of the embedder of the settings; which one that is exactly, opening tells."""
    stored, wanted = state.embedder or "", settings.embedder
    if stored.startswith(wanted):
        return HealthCheck("vectors", Health.OK, f"made by {stored}")
    fix = f"Set MEMORYOS_EMBEDDER to the embedder of the store, or run `memoryos reembed --embedder {wanted}`"
    return HealthCheck("vectors", Health.BROKEN, f"made by {stored}, and the embedder is {wanted}", fix)


def _lock(vault: SqlVault) -> HealthCheck:
    if isinstance(vault, SqliteVault) and is_write_locked(vault.path, vault.key):
        fix = "It waits its turn; if it stays, look for a process that hangs"
        return HealthCheck("lock", Health.WARNING, "another process is writing now", fix)
    return HealthCheck("lock", Health.OK, "nobody holds the write lock")


def _jobs(state: StoreState) -> Iterator[HealthCheck]:
    told = ", ".join(f"{count:,} {name}" for name, count in sorted(state.jobs.items())) or "none"
    if dead := state.jobs.get("dead", 0):
        fix = "`memoryos jobs list` tells why, `memoryos jobs retry` tries again"
        yield HealthCheck("jobs", Health.WARNING, f"{dead:,} failed too often ({told})", fix)
    else:
        yield HealthCheck("jobs", Health.OK, told)
    if state.unsettled:
        fix = "The next process that opens the store continues"
        yield HealthCheck("pages", Health.WARNING, f"pages of {state.unsettled:,} owners wait for their tier", fix)


def _policies(settings: Settings) -> Iterator[HealthCheck]:
    if settings.policies is None:
        yield HealthCheck("policies", Health.OFF, "none: everybody may do everything")
        return
    from memoryos.policy.policy_files import PolicyFiles  # only stores with policies need them

    count = len(PolicyFiles(settings.policies).policies().texts)
    yield HealthCheck("policies", Health.OK, f"{count:,} policies, nothing wrong")


def _pipelines(settings: Settings) -> Iterator[HealthCheck]:
    """The files of the folder `pipelines`; each that is wrong is a finding."""
    if settings.pipelines is None:
        yield HealthCheck("pipelines", Health.OFF, "no folder of your own")
        return
    files = list(pipeline_files(settings.pipelines))
    wrong = [one for file in files for one in _safely("pipelines", partial(_read, file))]
    yield from wrong or [HealthCheck("pipelines", Health.OK, f"{len(files):,} files, nothing wrong")]


def _read(file: Path) -> Iterator[HealthCheck]:
    read_pipeline(file)
    yield from ()


def _embedder(settings: Settings, online: bool) -> Iterator[HealthCheck]:
    if settings.embedder.startswith(SERVED) and not online:
        yield HealthCheck("embedder", Health.OK, f"{settings.embedder}: not asked; --online does")
        return
    made = load_embedder(settings.embedder, _impatient(settings))
    made.embed(["a"])
    yield HealthCheck("embedder", Health.OK, f"{settings.embedder}: {made.dim} numbers a vector")


def _model(settings: Settings, online: bool) -> Iterator[HealthCheck]:
    if settings.llm_model is None:
        is_needed = ExtractorKind.MODEL in (settings.extractor, settings.request_reader)
        fix = "Set MEMORYOS_LLM_MODEL, and MEMORYOS_LLM_API_KEY or MEMORYOS_LLM_BASE_URL"
        health = Health.BROKEN if is_needed else Health.OFF
        yield HealthCheck("model", health, "no chat model; `respond` and `chat` need one", fix)
        return
    try:
        with closing(chat_of(_impatient(settings))) as chat:
            if online:
                chat.reach()
    except ModelNotConfigured as error:
        yield HealthCheck("model", Health.BROKEN, "no key and no URL of the chat model", str(error))
        return
    told = "it answers" if online else "not asked; --online does"
    yield HealthCheck("model", Health.OK, f"{settings.llm_model}: {told}")


def _upstream(settings: Settings, online: bool) -> Iterator[HealthCheck]:
    """The model server behind the proxy."""
    if settings.upstream is None:
        yield HealthCheck("upstream", Health.OFF, "no proxy")
        return
    if not online:
        yield HealthCheck("upstream", Health.OK, "not asked; --online does")
        return
    key = upstream_key(settings)
    server = Endpoint("model server of the proxy", settings.upstream, key or "none", ONLINE_SECONDS, 0)
    with closing(server.connect()) as connection:
        connection.reach(with_key=key is not None)
    yield HealthCheck("upstream", Health.OK, "it answers")


def _impatient(settings: Settings) -> Settings:
    return settings.model_copy(update={"llm_timeout_seconds": ONLINE_SECONDS, "llm_retries": 0})
