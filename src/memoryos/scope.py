"""Scope: the owner of a memory. Every read and write of the vault names one.

Ids are opaque data. They are only compared and bound as SQL parameters, never parsed, joined into paths or formatted
into statements, so "../../x" and "'; DROP TABLE" are ordinary names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import quote, unquote

from memoryos.choice import Choice
from memoryos.errors import InvalidInput
from memoryos.plain import Plain
from memoryos.text import checked_text
from memoryos.text_cache import text_cache

ID_LIMIT = 256  # characters in one id or namespace label


class Namespace(Choice):
    """The purpose of a memory: the first label of a namespace (MemOS paper, section 5.5.2); others are allowed."""

    PRIVATE = "private"  # a user's own
    EXPERT = "expert"  # what is known of a field
    INDUSTRY = "industry"  # what organisations share
    CONTEXT = "context"  # what agents of a tenant work on together
    PIPELINE = "pipeline"  # what steps of a tenant's pipelines hand on


BRANCH = "branch:"  # before the name of a branch, in the last label of its namespace

PRIVATE = (Namespace.PRIVATE.value,)  # the namespace of a user's own memory


@dataclass(frozen=True, slots=True)
class Scope(Plain):
    """The owner of a memory: tenant / user / agent, an optional session, and a namespace path.

    `agent=None` means every agent of this user, for memory that is shared on purpose. `session` labels what is written;
    it does not narrow what is read.
    """

    user: str  #: whose memory it is
    agent: str | None = "default"  #: which agent has it; None: all agents of the user
    session: str | None = None  #: label of what is written; None: none
    tenant: str = "default"  #: the organisation, apart from all others
    namespace: tuple[str, ...] = PRIVATE  #: labels of its purpose, see Namespace

    def __post_init__(self) -> None:
        parts = (self.tenant, self.user, self.agent, self.session, self.namespace)
        try:
            _check(*parts)
        except TypeError:  # of what cannot be a key of the cache: it is no text either
            _check.__wrapped__(*parts)

    @property
    def owner(self) -> Scope:
        """The scope without its session. Each owner has one hierarchy."""
        return self if self.session is None else replace(self, session=None)

    @property
    def across_agents(self) -> Scope:
        """The scope of the memory that all agents of the user share."""
        return replace(self, agent=None, session=None)

    @property
    def is_branch(self) -> bool:
        """Whether it is a branch of another scope."""
        return len(self.namespace) > 1 and self.namespace[-1].startswith(BRANCH)

    @property
    def trunk(self) -> Scope:
        """The scope that this one is a branch of; itself if it is none."""
        return replace(self, namespace=self.namespace[:-1]) if self.is_branch else self

    @property
    def path(self) -> str:
        """The namespace as one string. It is injective, because "/" inside a label is escaped."""
        return path_of(self.namespace)


@text_cache(1024)  # each memory that is read has one
def _check(tenant: object, user: object, agent: object, session: object, namespace: object) -> None:
    """Raise InvalidInput for parts that no scope has."""
    for name, part in (("tenant", tenant), ("user", user), ("agent", agent), ("session", session)):
        if part is not None or name in ("tenant", "user"):
            checked_text(f"scope.{name}", part, limit=ID_LIMIT)
    if not isinstance(namespace, tuple) or not namespace:
        raise InvalidInput("scope.namespace", "expected a tuple of labels", "Pass e.g. ('team', 'support')")
    for label in namespace:
        checked_text("scope.namespace", label, limit=ID_LIMIT)


@lru_cache(1024)  # each read and write of a store asks for it
def path_of(namespace: tuple[str, ...]) -> str:
    """A namespace as one string."""
    return "/".join(quote(label, safe="") for label in namespace)


def namespace_from_path(path: str) -> tuple[str, ...]:
    """The inverse of `Scope.path`."""
    return tuple(unquote(label) for label in path.split("/"))
