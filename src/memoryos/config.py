"""Settings: every knob in one frozen value, and the only place that reads the environment.

Each field can be set by `MEMORYOS_<FIELD>` (for example MEMORYOS_LLM_MODEL). Defaults are the
MemoryOS paper's (section 4.1) where it gives one.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, tzinfo
from enum import StrEnum
from functools import wraps
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from memoryos.errors import InvalidInput
from memoryos.mount import Mount

SERVED = "openai:"  # before the model, in the setting `embedder` and in the name that stores keep

_Made = TypeVar("_Made")

LONGEST_WAIT = 366 * 86_400.0  # seconds; the queue takes a longer one for the work of a clock that ran ahead

CONNECTIONS = 5  # to a PostgreSQL server; by default it has 100, for all processes


class PersonaSharing(StrEnum):
    """Who reads the user persona that one agent's conversations formed."""

    PAIR = "pair"  # only that (user, agent) pair
    USER = "user"  # every agent of the user


class ExtractorKind(StrEnum):
    """Who reads the pages of a hot segment."""

    RULES = "rules"
    MODEL = "model"


class JobsRun(StrEnum):
    """Where the jobs behind the writes are done."""

    HERE = "here"  # in the process that writes
    WORKER = "worker"  # in the processes of `memoryos worker`


_OPENAI = {"llm_api_key": "openai_api_key", "llm_base_url": "openai_base_url"}


class _Environment(EnvSettingsSource):
    """The variables of the environment; not one field is looked up when none of ours is there."""

    def __init__(self, settings_cls: type[BaseSettings], passed: Collection[str]) -> None:
        super().__init__(settings_cls)
        self._passed = passed

    def __call__(self) -> dict[str, Any]:
        is_set = any(name.startswith(self.env_prefix.lower()) for name in self.env_vars)
        found = super().__call__() if is_set else {}
        return found if set(_OPENAI).intersection((*self._passed, *found)) else {**self._of_openai(), **found}

    def _of_openai(self) -> dict[str, str]:
        """Key and URL as other programs name them, for who names neither to us: no key goes to another's URL."""
        return {field: value for field, name in _OPENAI.items() if (value := self.env_vars.get(name))}


def _explained(kind: type[_Made]) -> type[_Made]:
    """Let the settings raise InvalidInput for a wrong field."""
    make = kind.__init__

    @wraps(make)
    def checked(self: _Made, **values: Any) -> None:
        try:
            make(self, **values)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"]) or "settings"
            raise InvalidInput(field, first["msg"], "See memoryos.Settings for the fields and their ranges") from None
        except SettingsError as error:  # it quotes no value
            raise InvalidInput("settings", str(error), "Write lists in the environment as JSON") from None

    kind.__init__ = checked  # type: ignore[assignment,method-assign]
    return kind


@_explained
class Settings(BaseSettings):
    """How one MemoryOS behaves."""

    model_config = SettingsConfigDict(env_prefix="MEMORYOS_", frozen=True, extra="forbid")

    db: str = Field("memoryos.db", description="the store that the command line opens: a file or postgresql://...")

    # Hierarchy: what stays where, and when it moves.
    short_term_capacity: int = Field(7, ge=1, description="pages in STM")
    mid_term_capacity: int = Field(200, ge=1, description="segments in MTM")
    knowledge_capacity: int = Field(100, ge=1, description="facts in LPM, for the user and for the agent each")
    segment_threshold: float = Field(0.6, ge=-1, le=2, description="theta: F_score above which a page joins a segment")
    heat_threshold: float = Field(5.0, ge=0, description="tau: heat above which a segment goes to LPM extraction")
    self_tuning: bool = Field(
        True, description="theta, tau, top-m, top-k and w follow each scope's own scores, as far as nobody sets them"
    )
    heat_visits: float = Field(1.0, ge=0, description="alpha: weight of N_visit")
    heat_interactions: float = Field(1.0, ge=0, description="beta: weight of L_interaction")
    heat_recency: float = Field(1.0, ge=0, description="gamma: weight of R_recency")
    recency_seconds: float = Field(1e7, gt=0, description="mu: time constant of R_recency, seconds")

    # Cold: archived pages that lie in an object store.
    object_store: str | None = Field(None, description="file:///folder, s3://bucket/prefix, gs://... or az://...")
    cold_after_days: float | None = Field(
        None, ge=0, description="archived pages that nobody visited for so long move to object_store; None: never"
    )

    # Recall.
    recall_segments: int = Field(5, ge=1, description="top-m segments")
    recall_pages: int = Field(
        10, ge=1, description="top-k pages of a search; once it is set, of a context and an answer, too"
    )
    keyword_weight: float = Field(
        0.0, ge=0, description="w: weight of shared keywords beside the cosine when two_stage ranks pages"
    )
    recall_facts: int = Field(10, ge=0, description="user facts and agent facts, each")
    abstain_below: float = Field(
        0.02, ge=0, le=1, description="a context of a question less likely to have an answer says so; 0: never"
    )
    resident_mb: int = Field(1024, ge=1, description="memory for the indexes of the scopes in use, megabytes")
    candidates: str | None = Field(
        None,
        description="where the turns of scopes too large for memory are found: milvus:URI; None is what the store has",
    )
    candidates_token: SecretStr | None = Field(None, description="the token of that Milvus, or user:password")
    mounts: tuple[Mount, ...] = Field(
        (), description='other memories that searches look into, as JSON: [{"name": ..., "place": ..., "scope": {...}}]'
    )
    context_tokens: int = Field(2048, ge=64, description="budget of context() and of an answer's notes, tokens")
    prompt_tokens: int = Field(
        4096, ge=256, description="budget of the whole prompt of an answer, the question with it, tokens"
    )

    # Persona.
    persona_sharing: PersonaSharing = PersonaSharing.PAIR
    persona_schema: str | None = Field(
        None, description="children_tutor, support_desk, or the path of a persona schema; None is the paper's"
    )

    # Consolidation.
    extractor: ExtractorKind = Field(
        ExtractorKind.RULES, description="rules (free, no model) or model (asks llm_model in the background)"
    )
    extract_within_seconds: float | None = Field(
        86_400.0,
        gt=0,
        le=LONGEST_WAIT,
        description="a page in MTM is extracted this soon, hot or not; None: only when hot",
    )
    recent_within_seconds: float | None = Field(
        30 * 86_400.0,
        ge=0,
        le=LONGEST_WAIT,
        description="a page in STM is extracted this soon; None: never. Rules read it at once, unless this is set",
    )
    batch_pages: int = Field(16, ge=1, description="pages that a model reads in one call")
    batch_seconds: float = Field(
        3_600.0, ge=0, le=LONGEST_WAIT, description="how long hot pages wait for others to share a call with"
    )
    jobs: JobsRun = Field(JobsRun.HERE, description="here (a thread beside the callers) or worker (memoryos worker)")

    self_repair: bool = Field(
        default=True, description="look in the background for pages in the wrong segment, and move them"
    )

    # Models.
    embedder: str = Field(
        "static", description="static (fast), minilm (recalls about a point more) or openai:MODEL, behind an endpoint"
    )
    embedder_base_url: str | None = Field(None, description="endpoint of openai:MODEL; None is llm_base_url")
    embedder_api_key: SecretStr | None = Field(
        None, description="its key; None is llm_api_key, if both models are at the same URL"
    )
    embedder_dim: int | None = Field(None, ge=1, description="numbers a vector to ask for; None is what it sends")
    llm_model: str | None = None
    llm_api_key: SecretStr | None = Field(None, description="None is OPENAI_API_KEY, if llm_base_url is None, too")
    llm_base_url: str | None = Field(None, description="None is OPENAI_BASE_URL, if llm_api_key is None, too")
    llm_timeout_seconds: float = Field(
        60.0, gt=0, description="how long one call of a model takes in all, to the last byte, with its retries"
    )
    llm_retries: int = Field(2, ge=0, description="of a call that may succeed later, while its time lasts")
    llm_temperature: float | None = Field(None, ge=0, le=2)
    llm_max_tokens: int | None = Field(None, ge=1)
    llm_json_mode: bool = Field(
        default=False, description="ask for JSON with response_format json_object, which not every server knows"
    )
    llm_concurrency: int = Field(4, ge=1, description="calls at once, of this process")
    llm_requests_per_minute: float | None = Field(None, gt=0, description="of this process; None is no limit")
    llm_tokens_per_day: int | None = Field(None, ge=1, description="budget of the store, tokens a day (UTC)")
    llm_cost_per_day: float | None = Field(None, gt=0, description="budget of the store, in the prices' currency")
    llm_price_prompt: float = Field(0.0, ge=0, description="of a million prompt tokens")
    llm_price_completion: float = Field(0.0, ge=0, description="of a million tokens that the model writes")

    judge_api_key: SecretStr | None = Field(
        None, description="key of the judge of bench answers; None is llm_api_key, if both models are at the same URL"
    )

    time_zone: str = Field("UTC", description="zone of times and days that are stated without one, e.g. Europe/Berlin")

    # Limits.
    max_text_chars: int = Field(4_000_000, ge=1, description="characters in one turn")
    max_attachment_bytes: int = Field(20_000_000, ge=1, description="bytes in one attachment")
    busy_timeout_seconds: float = Field(
        30.0,
        ge=0,
        description="how long one call waits for others in all: for locks and for connections, not for its own work",
    )
    mount_timeout_seconds: float = Field(30.0, gt=0, description="how long a search waits for a mounted memory")
    connections: int = Field(
        CONNECTIONS, ge=1, description="threads of this process that use a PostgreSQL server at once; others wait"
    )

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        _zone(name)
        return name

    @property
    def zone(self) -> tzinfo:
        """The zone of times that are stated without one."""
        return _zone(self.time_zone)

    @property
    def recent_within(self) -> float | None:
        """Seconds that a page of STM waits to be read; None: until it leaves. Rules wait only if they are told to."""
        is_free = self.extractor is ExtractorKind.RULES
        return 0.0 if is_free and "recent_within_seconds" not in self.model_fields_set else self.recent_within_seconds

    @property
    def most_pages(self) -> int | None:
        """How many older pages a context and an answer may be made of; None is as many as their tokens hold."""
        return self.recall_pages if "recall_pages" in self.model_fields_set else None

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What is passed, then the environment; no file is read."""
        return init_settings, _Environment(settings_cls, init_settings())


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name[:40]!r} is no time zone; use e.g. UTC or Europe/Berlin") from None


def load_settings(**values: Any) -> Settings:
    """Settings from `values`, then the environment, then the defaults. Raises InvalidInput naming the field."""
    return Settings(**values)
