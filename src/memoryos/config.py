"""Settings: all settings in one frozen value.

Each field can be set by `MEMORYOS_<FIELD>` (for example MEMORYOS_LLM_MODEL). The defaults are those of the MemoryOS
paper (section 4.1) where it gives one.
"""

from __future__ import annotations

import re
from datetime import UTC, tzinfo
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from memoryos.choice import Choice
from memoryos.environment import Environment, UnknownVariable
from memoryos.errors import InvalidInput
from memoryos.kinds import Trust
from memoryos.mount import Mount
from memoryos.privacy.sensitive import PrivacyAction, SensitiveKind
from memoryos.refusal import Refusal

LOCAL = "local:"  # before the path of a model in this process, in the setting `llm_model`
SERVED = "openai:"  # before the model, in the setting `embedder` and in the name that stores keep

_Made = TypeVar("_Made", bound=BaseSettings)

LONGEST_WAIT = 366 * 86_400.0  # seconds; the queue takes a longer one for the work of a clock that ran ahead

CONNECTIONS = 5  # to a PostgreSQL server; by default it has 100, for all processes


class PersonaSharing(Choice):
    """Which agents share the user persona."""

    PAIR = "pair"  # only that (user, agent) pair
    USER = "user"  # every agent of the user


class ExtractorKind(Choice):
    """How pages of hot segments are read."""

    RULES = "rules"
    MODEL = "model"


class MergePolicy(Choice):
    """Which memories of one owner are merged by themselves."""

    OFF = "off"  # none
    EQUAL = "equal"  # those with the same words
    NEAR = "near"  # also those of which one says nothing that the other does not say


class JobsRun(Choice):
    """Where background jobs run."""

    HERE = "here"  # in the process that writes
    WORKER = "worker"  # in the processes of `memoryos worker`


class LocalRuntime(Choice):
    """What computes a model in this process."""

    TRANSFORMERS = "transformers"
    LLAMACPP = "llamacpp"  # GGUF files alone


class NotesRole(Choice):
    """As whose message a model behind the proxy gets the notes from memory."""

    SYSTEM = "system"  # a message of its own
    DEVELOPER = "developer"  # the same, for models that know this role alone
    USER = "user"  # within the user's message, for models that take no system message there


def _explained(kind: type[_Made]) -> type[_Made]:
    """Make the settings raise InvalidInput for a wrong field."""
    make = kind.__init__

    @wraps(make)
    def checked(self: _Made, **values: Any) -> None:
        try:
            make(self, **values)
        except ValidationError as error:
            refusal = Refusal.of(error, kind.__annotations__)
            known = kind.model_fields.get(refusal.place.partition(".")[0])
            fix = refusal.fix or (f"It is: {known.description}" if known else "Its name is that of no setting")
            raise InvalidInput(refusal.place or "settings", refusal.problem, fix) from None
        except SettingsError as error:  # it quotes no value
            named = re.search(r'field "(\w+)"', str(error))
            field = named[1] if named else "settings"
            raise InvalidInput(field, "cannot be read", "Write lists in the environment as JSON") from None

    kind.__init__ = checked  # type: ignore[assignment,method-assign]
    return kind


@_explained
class Settings(BaseSettings):
    """The settings of one store."""

    model_config = SettingsConfigDict(env_prefix="MEMORYOS_", frozen=True, extra="forbid", defer_build=True)

    db: str = Field("memoryos.db", description="store that the command line opens: a file or postgresql://...")
    user: str = Field("default", min_length=1, description="user of the command line")
    agent: str = Field("default", min_length=1, description="agent of the command line")
    session: str | None = Field(None, min_length=1, description="session of what `memoryos mcp` stores; None: none")
    tenant: str = Field("default", min_length=1, description="tenant of the command line")

    # Hierarchy: what stays where, and when it moves.
    short_term_capacity: int = Field(7, ge=1, description="pages in STM")
    mid_term_capacity: int = Field(200, ge=1, description="segments in MTM")
    most_snapshots: int = Field(32, ge=1, description="snapshots of an owner, and branches, at most")
    snapshot_days: float = Field(365.0, gt=0, le=36_500, description="days after which a snapshot ends, at the latest")
    most_versions: int | None = Field(
        None, ge=0, description="earlier versions of a memory that are kept, the latest; None: all"
    )
    version_days: float | None = Field(
        None, gt=0, le=36_500, description="days for which an earlier version is kept after the next one; None: no end"
    )
    knowledge_capacity: int = Field(100, ge=1, description="facts in LPM about the user, and as many about the agent")
    segment_threshold: float = Field(0.6, ge=-1, le=2, description="theta: F_score above which a page joins a segment")
    heat_threshold: float = Field(5.0, ge=0, description="tau: heat above which a segment goes to LPM extraction")
    self_tuning: bool = Field(
        True, description="tune theta, tau, top-m, top-k and w to each owner's scores, unless they are set"
    )
    heat_visits: float = Field(1.0, ge=0, description="alpha: weight of N_visit")
    heat_interactions: float = Field(1.0, ge=0, description="beta: weight of L_interaction")
    heat_recency: float = Field(1.0, ge=0, description="gamma: weight of R_recency")
    recency_seconds: float = Field(1e7, gt=0, description="mu: time constant of R_recency, seconds")

    # Cold: archived pages that lie in an object store.
    object_store: str | None = Field(
        None, description="object store for archived pages: file:///folder, s3://bucket/prefix, gs://... or az://..."
    )
    cold_after_days: float | None = Field(
        None, ge=0, description="archived pages move to object_store after so many days without a visit; None: never"
    )

    # Recall.
    recall_segments: int = Field(5, ge=1, description="top-m segments")
    recall_pages: int = Field(10, ge=1, description="top-k pages of a search; if set, also of a context and an answer")
    keyword_weight: float = Field(
        0.0, ge=0, description="w: weight of shared keywords against the cosine in the page ranking of two_stage"
    )
    recall_facts: int = Field(10, ge=0, description="facts about the user and about the agent, each, in a search")
    abstain_below: float = Field(
        0.02, ge=0, le=1, description="context() reports that nothing was found when the confidence is lower; 0: never"
    )
    min_trust: Trust = Field(
        Trust.OUTSIDE,
        description="least trust of what search, context and answers use: stated, inferred, imported or outside",
    )
    resident_mb: int = Field(1024, ge=1, description="memory for the indexes of the owners in use, megabytes")
    candidates: str | None = Field(
        None,
        description="candidate index for owners too large for memory: milvus:URI; None: the store's own, if it has one",
    )
    candidates_token: SecretStr | None = Field(None, description="token for Milvus, or user:password")
    mounts: tuple[Mount, ...] = Field(
        (), description='other memories that searches include, as JSON: [{"name": ..., "place": ..., "scope": {...}}]'
    )
    context_tokens: int = Field(
        2048, ge=64, description="budget of context(), and of the memories in the prompt of an answer, tokens"
    )
    prompt_tokens: int = Field(
        4096, ge=256, description="budget of the whole prompt of an answer, including the question, tokens"
    )

    # Persona.
    persona_sharing: PersonaSharing = Field(
        PersonaSharing.PAIR, description="pair (one persona per user and agent) or user (all agents share one)"
    )
    persona_schema: str | None = Field(
        None, description="children_tutor, support_desk, or the path of a persona schema; None: the paper's schema"
    )

    # Governance.
    policies: Path | None = Field(
        None, description="a .cedar file, or a folder of them, that says who may do what; None: everybody may"
    )

    merge_duplicates: MergePolicy = Field(
        MergePolicy.OFF,
        description="pages and facts that a job merges: off, equal (the same words) or near (one says no more)",
    )
    merge_near: float = Field(0.95, ge=0.9, le=1, description="cosine from which near memories are merged")

    key: SecretStr | None = Field(None, description="API key of the caller of the command line; None: the user calls")
    purpose: str | None = Field(None, min_length=1, description="purpose that the command line states; None: none")
    application: str | None = Field(None, min_length=1, description="program that calls; None: none")
    caller_session: str | None = Field(
        None, min_length=1, description="session in which the command line calls, for policies; None: none"
    )

    # Scheduling.
    placement: str = Field(
        "density", description="policy of memory.schedule: density, gdsf, lru, heat, similarity, labels, ...; off: none"
    )
    placement_states: bool = Field(
        False,
        description="whether `placement` also decides which KV states of activations stay in memory, with a fair share"
        " for each owner, and loads in pauses what the next question probably uses; without, the last used stay",
    )
    placement_adapters: bool = Field(
        False, description="whether `schedule.decide` has an adapter trained of its KV cache once that is stable"
    )
    placement_priorities: dict[str, Annotated[int, Field(ge=0, le=9)]] = Field(
        {},
        description='priorities of tags in the scheduler, 0 to 9, as JSON: {"urgent": 9}; those of a call come first',
    )

    # Consolidation.
    extractor: ExtractorKind = Field(
        ExtractorKind.RULES, description="rules (free, no model) or model (llm_model, in the background)"
    )
    extract_within_seconds: float | None = Field(
        86_400.0,
        gt=0,
        le=LONGEST_WAIT,
        description="a page in MTM is extracted after at most this time, hot or not; None: only when hot",
    )
    recent_within_seconds: float | None = Field(
        30 * 86_400.0,
        ge=0,
        le=LONGEST_WAIT,
        description="a page in STM is extracted after at most this time; None: never. Rules read it at once unless set",
    )
    batch_pages: int = Field(16, ge=1, description="pages that a model reads in one call")
    batch_seconds: float = Field(
        3_600.0, ge=0, le=LONGEST_WAIT, description="how long hot pages wait for more pages to share a model call"
    )
    jobs: JobsRun = Field(JobsRun.HERE, description="here (in a background thread) or worker (in memoryos worker)")

    self_repair: bool = Field(
        default=True, description="find pages in the wrong segment in the background, and move them"
    )

    # Models.
    embedder: str = Field(
        "static", description="static (fast), minilm (about one point more recall) or openai:MODEL (behind an endpoint)"
    )
    embedder_base_url: str | None = Field(None, description="endpoint of openai:MODEL; None: llm_base_url")
    embedder_api_key: SecretStr | None = Field(
        None, description="API key of the embedder; None: llm_api_key, if both models have the same URL"
    )
    embedder_dim: int | None = Field(
        None, ge=1, description="dimension to request from the embedder; None: the model's own"
    )
    llm_model: str | None = Field(
        None,
        description="chat model behind the endpoint, or local:PATH (a folder or a .gguf file), or local: (a small one)",
    )
    local_runtime: LocalRuntime | None = Field(
        None, description="what computes a local model: transformers or llamacpp; None: llamacpp for a .gguf file"
    )
    local_window: int = Field(8192, ge=64, description="most tokens of a prompt of a local model with its answer")
    local_threads: int | None = Field(
        None, ge=1, description="threads of a local model; None: as many as there are cores"
    )
    local_cache: Path | None = Field(
        None, description="folder for unpacked .gguf files, which transformers needs; None: ~/.cache/memoryos"
    )
    local_state_mb: int = Field(
        512,
        ge=0,
        description="memory for KV states of a local model, megabytes: so much for conversations, for activations and"
        " for an extractor each; 0: none is kept",
    )
    compose_states: bool = Field(
        False, description="whether `activations.answer` and plans put states of several prefixes together; not exact"
    )
    compose_recompute: int = Field(
        16, ge=0, description="tokens at the beginning of each prefix but the first that are then computed anew"
    )
    answer_adapters: bool = Field(False, description="whether `respond` uses the loaded adapters; needs a local model")
    answer_watermark: bool = Field(
        False,
        description="whether the words of answers have a statistical mark; needs a local model that transformers"
        " computes",
    )
    request_reader: ExtractorKind = Field(
        ExtractorKind.RULES, description="who reads requests in plain words: rules (free) or model (llm_model)"
    )
    llm_api_key: SecretStr | None = Field(
        None, description="API key of the chat model; None: OPENAI_API_KEY, if llm_base_url is not set either"
    )
    llm_base_url: str | None = Field(
        None, description="endpoint of the chat model; None: OPENAI_BASE_URL, if llm_api_key is not set either"
    )
    llm_timeout_seconds: float = Field(
        60.0, gt=0, description="time limit of one model call, including its retries, to the last byte"
    )
    llm_retries: int = Field(
        2, ge=0, description="retries of a model call after temporary errors, within its time limit"
    )
    llm_temperature: float | None = Field(None, ge=0, le=2, description="temperature; None: the server's default")
    llm_max_tokens: int | None = Field(
        None, ge=1, description="most tokens of an answer; None: the server's default, or 2,048 with a budget"
    )
    llm_json_mode: bool = Field(
        default=False, description="request JSON with response_format json_object, which not all servers support"
    )
    llm_concurrency: int = Field(4, ge=1, description="parallel model calls of this process")
    llm_requests_per_minute: float | None = Field(
        None, gt=0, description="model calls per minute of this process; None: no limit"
    )
    llm_tokens_per_day: int | None = Field(
        None, ge=1, description="budget of the store, tokens per day (UTC); None: no limit"
    )
    llm_cost_per_day: float | None = Field(
        None, gt=0, description="budget of the store per day (UTC), in the currency of the prices; None: no limit"
    )
    llm_price_prompt: float = Field(0.0, ge=0, description="price of a million prompt tokens")
    llm_price_completion: float = Field(0.0, ge=0, description="price of a million tokens that the model writes")

    judge_api_key: SecretStr | None = Field(
        None, description="API key of the judge of bench answers; None: llm_api_key, if both models have the same URL"
    )

    upstream: str | None = Field(
        None, description="base URL of the OpenAI API for which memoryos serve is a proxy; None: no proxy"
    )
    upstream_api_key: SecretStr | None = Field(
        None, description="API key of upstream; None: llm_api_key, if both have the same URL"
    )
    upstream_timeout_seconds: float = Field(
        600.0, gt=0, description="how long the proxy waits for the next bytes of upstream"
    )
    upstream_memory_seconds: float = Field(2.0, gt=0, description="how long a chat of the proxy waits for memory")
    upstream_tokens: int = Field(
        512,
        ge=32,
        description="budget of the notes that the proxy inserts, tokens (and some for their fence)",
    )
    upstream_notes: NotesRole = Field(
        NotesRole.SYSTEM,
        description="notes from memory are a system or developer message, or stand in the message of the user",
    )

    traces: bool = Field(
        False,
        description="memoryos serve sends traces of requests, without contents, where OTEL_EXPORTER_OTLP_ENDPOINT says",
    )

    time_zone: str = Field("UTC", description="time zone of times and days without one, e.g. Europe/Berlin")

    # Governance.
    audit: bool = Field(
        default=False, description="keep an audit log of all reads and writes: who did what to which memory"
    )

    pipelines: Path | None = Field(None, description="folder with your own pipelines (.yaml or .json); None: only ours")

    # Privacy.
    privacy_on_write: PrivacyAction = Field(
        PrivacyAction.OFF,
        description="personal data and secrets in what is stored: off, tag, mask, pseudonym (by privacy_key) or refuse",
    )
    privacy_on_export: PrivacyAction = Field(
        PrivacyAction.OFF, description="personal data and secrets in exports: off, mask or pseudonym (by privacy_key)"
    )
    privacy_on_read: PrivacyAction = Field(
        PrivacyAction.OFF, description="personal data and secrets in what calls return: off, mask or tag"
    )
    privacy_kinds: tuple[SensitiveKind, ...] = Field(
        (), description='kinds that these policies apply to, as JSON: ["secret", "card"]; empty: all'
    )
    privacy_names: str | None = Field(
        None,
        validate_default=True,
        description="spaCy pipeline that finds names of persons, by package or folder; None: no names are found",
    )
    privacy_key: SecretStr | None = Field(
        None, description="key of the pseudonyms, 32 random characters or more; whoever has it can turn them back"
    )

    # Encryption of the file.
    encryption_key: SecretStr | None = Field(
        None, description="key of an encrypted store, 32 random characters or more; None: the store is not encrypted"
    )
    encryption_key_file: Path | None = Field(None, description="file that holds this key")
    encryption_keyring: str | None = Field(
        None, description="place of this key in the keyring of the system: SERVICE/NAME"
    )

    # Limits.
    max_text_chars: int = Field(4_000_000, ge=1, description="most characters in one turn")
    max_attachment_bytes: int = Field(20_000_000, ge=1, description="most bytes in one attachment")
    busy_timeout_seconds: float = Field(
        30.0,
        ge=0,
        description="how long one call waits in total for locks and connections",
    )
    mount_timeout_seconds: float = Field(30.0, gt=0, description="how long a search waits for a mounted memory")
    connections: int = Field(
        CONNECTIONS, ge=1, description="PostgreSQL connections of this process; further threads wait"
    )

    @field_validator("privacy_on_export", "privacy_on_read")
    @classmethod
    def _has_effect(cls, action: PrivacyAction, info: ValidationInfo) -> PrivacyAction:
        other = PrivacyAction.PSEUDONYM if info.field_name == "privacy_on_export" else PrivacyAction.TAG
        if action not in (PrivacyAction.OFF, PrivacyAction.MASK, other):
            raise ValueError(f"{action.value!r} has no effect there; use off, mask or {other.value}")
        return action

    @field_validator("privacy_names")
    @classmethod
    def _finds_names(cls, pipeline: str | None, info: ValidationInfo) -> str | None:
        policies = (info.data.get(f"privacy_on_{when}") for when in ("write", "export", "read"))
        asks = SensitiveKind.NAME in info.data.get("privacy_kinds", ())
        if asks and not pipeline and any(one not in (None, PrivacyAction.OFF) for one in policies):
            raise ValueError(
                "is not set, so no name would be found, and privacy_kinds has the kind name; set it to a spaCy pipeline"
                " such as en_core_web_sm, or leave name out of privacy_kinds"
            )
        return pipeline

    @field_validator("llm_base_url", "embedder_base_url", "upstream")
    @classmethod
    def _is_address(cls, url: str | None) -> str | None:
        if url:
            url = url.strip()
            _check_address(url)
        return url

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        _zone(name)
        return name

    @property
    def is_local(self) -> bool:
        """Whether the chat model runs in this process."""
        return (self.llm_model or "").startswith(LOCAL)

    @property
    def zone(self) -> tzinfo:
        """The time zone of times that have none."""
        return _zone(self.time_zone)

    @property
    def recent_within(self) -> float | None:
        """Seconds until a page in STM is read; None: when it leaves STM. Rules read it at once unless this is set."""
        is_free = self.extractor is ExtractorKind.RULES
        return 0.0 if is_free and "recent_within_seconds" not in self.model_fields_set else self.recent_within_seconds

    @property
    def most_pages(self) -> int | None:
        """How many older pages a context or an answer may use; None: as many as fit the tokens."""
        return self.recall_pages if "recall_pages" in self.model_fields_set else None

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Passed values come first, then the environment; no file is read."""
        return init_settings, Environment(settings_cls, init_settings())


def _check_address(url: str) -> None:
    """Raise ValueError if it is no address of a server; a password in it is not quoted."""
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none
        is_one = False
    if not is_one or not url.isprintable() or " " in url:
        raise ValueError("is no address of a server; write e.g. http://localhost:11434/v1")


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name[:40]!r} is not a time zone; use e.g. UTC or Europe/Berlin") from None


def load_settings(**values: Any) -> Settings:
    """Return settings from `values`, then the environment, then the defaults. Raises InvalidInput."""
    return Settings(**values)


def unknown_variables() -> tuple[UnknownVariable, ...]:
    """Environment variables with our prefix that nothing reads, each with the name that it may stand for."""
    return Environment(Settings, ()).unknown()
