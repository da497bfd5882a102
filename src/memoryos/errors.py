"""Every error this library raises.

    MemoryOSError
    ├── InvalidInput            a value from the caller is wrong; the message names the field and the fix
    │   ├── KeyReused           an idempotency key that belongs to another call
    │   └── PrivacyRefused      it holds personal data or a secret, which `privacy_on_write` refuses
    ├── NotFound                no such user, session, memory, job or proposal
    ├── Refused                 this may not be done
    │   ├── PermissionDenied    the caller may not do it
    │   ├── CubeProtected       the memory is frozen, read-only or merged
    │   │   └── OnHold          a legal hold protects the memory
    │   ├── TransitionRefused   a memory in that state cannot get the other one
    │   ├── StaleVersion        the memory has another version than the caller expects
    │   └── RequestChanged      what a request would do is no longer what its preview told
    ├── ModelError              a model failed; nothing was stored
    │   ├── ModelNotConfigured  no model was given, or no key
    │   ├── ModelUnavailable    it cannot be reached or is too busy; try again later
    │   ├── BadAnswer           it answered in the wrong form
    │   ├── PromptTooLong       the prompt is longer than the local model's window
    │   ├── StateMismatch       a KV state belongs to another model
    │   └── BudgetSpent         the call would exceed the day's budget
    ├── DocumentIncomplete      a document was stored in part; it names the pages
    ├── StillRunning            the background work takes longer than the timeout
    ├── MissingExtra            an optional dependency is not installed
    └── StorageError            the store failed; nothing was written in part
        ├── LeaseLost           another worker took the job over
        ├── StoreBusy           another process holds the write lock
        ├── StoreUnreachable    the database server does not answer or closed the connection
        │   ├── OutcomeUnknown  during the commit: the write may have happened
        │   └── ObjectsUnreachable  the object store does not answer
        ├── StoreReadOnly       the file or its folder is read-only
        ├── StoreFull           the disk, a quota or a file's size is at its limit
        ├── IdTaken             a memory of another owner has that id
        ├── BlobMissing         the bytes of an attachment are missing
        ├── StoreCorrupt        the file is damaged or is not a MemoryOS store
        │   └── CubeDamaged     one memory was altered or damaged
        ├── StoreTooNew         written by a newer MemoryOS
        ├── EmbedderMismatch    the store's vectors come from another embedder
        ├── WrongKey            the encryption key does not fit the store
        └── IndexFailed         the candidate index beside the store failed
            └── IndexUnreachable    it does not answer

The docstring of a class is its default message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from memoryos import distribution


class MemoryOSError(Exception):
    """MemoryOS could not do what was asked."""

    step: str | None = None  #: the step of a pipeline that failed, such as "step 3 (archive)"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or type(self).__doc__)


class InvalidInput(MemoryOSError, ValueError):
    """A value given by the caller is wrong."""

    def __init__(self, field: str, problem: str, fix: str) -> None:
        super().__init__(f"{field}: {problem}. {fix}")
        self.field = field
        self.problem = problem
        self.fix = fix


class KeyReused(InvalidInput):
    """An idempotency key belongs to another call; nothing was stored."""

    def __init__(self) -> None:
        super().__init__("idempotency_key", "belongs to another call", "Give each call a key of its own")

    def __reduce__(self) -> tuple[type[KeyReused], tuple[()]]:
        """Pickle nothing more."""
        return type(self), ()


class PrivacyRefused(InvalidInput):
    """A text holds personal data or a secret, which the setting `privacy_on_write` refuses; nothing was stored."""

    def __init__(self, field: str, kinds: Sequence[str]) -> None:
        self.kinds = tuple(dict.fromkeys(kinds))  #: what was found, such as email; its words are not kept
        problem = f"holds {', '.join(self.kinds)}, which privacy_on_write=refuse does not store"
        super().__init__(field, problem, "Leave it out, or set privacy_on_write to mask or pseudonym")

    def __reduce__(self) -> tuple[type[PrivacyRefused], tuple[str, tuple[str, ...]]]:
        """Pickle the field and the kinds."""
        return type(self), (self.field, self.kinds)


class NotFound(MemoryOSError, LookupError):
    """There is no such user, session, memory, job or proposal."""


class Refused(MemoryOSError):
    """This may not be done; nothing was changed."""

    def __init__(self, message: str | None = None, *, memory_id: str | None = None) -> None:
        super().__init__(message)
        self.memory_id = memory_id  #: the memory that stands in the way; None: not told


class PermissionDenied(Refused, PermissionError):
    """The caller may not do this."""


class CubeProtected(Refused):
    """The memory is frozen, read-only or merged into another one; nothing was changed."""


class OnHold(CubeProtected):
    """A legal hold protects the memory; nothing was changed."""


class TransitionRefused(Refused):
    """A memory in this state cannot get the other one; nothing was changed."""


class StaleVersion(Refused):
    """The memory has another version than expected; nothing was changed: read it again."""

    def __init__(self, memory_id: str, expected: int, stored: int) -> None:
        super().__init__(
            f"the memory {memory_id} has version {stored}, not {expected}, and nothing was changed:"
            " read it again, and update it with `expected_version` of what was read",
            memory_id=memory_id,
        )
        self.expected = expected  #: the version number that the caller passed
        self.stored = stored  #: the one that the memory has

    def __reduce__(self) -> tuple[type[StaleVersion], tuple[str, int, int]]:
        """Pickle the id and the numbers."""
        return type(self), (self.memory_id or "", self.expected, self.stored)


class RequestChanged(Refused):
    """What the request would do has changed since its preview; nothing was changed: preview it again."""


class ModelError(MemoryOSError):
    """The model failed; nothing was stored."""

    def __init__(self, message: str | None = None, *, is_of_prompt: bool = False) -> None:
        super().__init__(message)
        self.is_of_prompt = is_of_prompt  #: this prompt or its reply was at fault: the model may answer others


class ModelNotConfigured(ModelError):
    """No chat model is configured: set MEMORYOS_LLM_MODEL and MEMORYOS_LLM_API_KEY (or MEMORYOS_LLM_BASE_URL)."""


class ModelUnavailable(ModelError):
    """The model cannot be reached or is too busy; nothing was stored."""

    def __init__(
        self, message: str | None = None, retry_after: float | None = None, *, was_asked: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after  #: seconds, as the server asks
        self.was_asked = was_asked  #: the model may have read the prompt, which then costs


class BadAnswer(ModelError):
    """The model answered in the wrong form; nothing was stored."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message, is_of_prompt=True)


class PromptTooLong(ModelError):
    """The prompt is longer than the model's window; nothing was stored."""

    def __init__(self, tokens: int, window: int) -> None:
        super().__init__(
            f"the prompt has {tokens:,} tokens, and the model's window {window:,}: shorten the question, or lower"
            " MEMORYOS_PROMPT_TOKENS; nothing was stored",
            is_of_prompt=True,
        )
        self.tokens = tokens  #: of the prompt
        self.window = window  #: tokens that prompt and answer may have together

    def __reduce__(self) -> tuple[type[PromptTooLong], tuple[int, int]]:
        """Pickle the numbers."""
        return type(self), (self.tokens, self.window)


class StateMismatch(ModelError):
    """The KV state belongs to another model, or was written by another version; it was not used."""


class BudgetSpent(ModelError):
    """The call would exceed the budget; nothing was sent."""

    def __init__(self, message: str, until: datetime) -> None:
        super().__init__(message)
        self.until = until  #: when the next budget begins


class DocumentIncomplete(MemoryOSError):
    """A document was stored in part: reading or storing failed after its first page."""

    def __init__(self, pages: Sequence[str], characters: int, cause: str) -> None:
        stored = f"its first {characters:,} characters are stored, as {_counted(len(pages), 'page')} up to {pages[-1]}"
        fix = "a repeated call with its idempotency_key goes on; without one, delete these pages first"
        super().__init__(f"the document is incomplete, because {cause}; {stored}; {fix}")
        self.pages = tuple(pages)  #: the ids of the pages that are stored, in order
        self.characters = characters  #: of the text, in these pages
        self.cause = cause  #: what failed; `__cause__` is the error itself

    def __reduce__(self) -> tuple[type[DocumentIncomplete], tuple[Sequence[str], int, str]]:
        """Pickle the pages and what failed."""
        return type(self), (self.pages, self.characters, self.cause)


# What can be unfinished, by its name in `StillRunning.running`: what is counted, and how that is told.
_WORK = (
    ("answers", "answer", "{} to store"),
    ("pages", "owner", "pages of {} to move"),
    ("jobs", "owner", "jobs of {}"),
)


def _counted(number: float, one: str) -> str:
    return f"{number:g} {one}" if number == 1 else f"{number:g} {one}s"


class StillRunning(MemoryOSError, TimeoutError):
    """The background work takes longer than the timeout."""

    def __init__(self, seconds: float, running: Mapping[str, int], outlook: str) -> None:
        """`outlook` says what becomes of the work."""
        left = ", ".join(told.format(_counted(running[name], one)) for name, one, told in _WORK if running.get(name))
        after = _counted(seconds, "second")
        super().__init__(f"the background work is not done after {after}{f': {left}' if left else ''}; {outlook}")
        self.running = dict(running)  #: "answers" to store; owners with "pages" to move and with "jobs" to do


class MissingExtra(MemoryOSError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str, without: str | None = None) -> None:
        otherwise = f"; {without} needs none" if without else ""
        super().__init__(f"{feature} needs an extra: pip install '{distribution.NAME}[{extra}]'{otherwise}")


class StorageError(MemoryOSError):
    """The store could not complete the operation; nothing was written."""


class LeaseLost(StorageError):
    """Another worker has taken the job over; nothing was written."""


class ChangedMeanwhile(StorageError):
    """Memories changed while they were read; nothing was written, and the job reads them again."""


class StoreBusy(StorageError):
    """Another process holds the store's write lock; try again."""


class StoreUnreachable(StorageError):
    """The database server does not answer: try again when it does; nothing was written."""


class OutcomeUnknown(StoreUnreachable):
    """The connection was lost during the commit, and the write may have happened: check before you try again."""


class ObjectsUnreachable(StoreUnreachable):
    """The object store does not answer: try again when it does; nothing was written."""


class StoreReadOnly(StorageError):
    """The store cannot be written: check the permissions of the file and its folder, or of the database role."""


class StoreFull(StorageError):
    """The disk is full, or a quota or file size limit reached: free some space and try again; nothing was written."""


class IdTaken(StorageError):
    """A memory of another owner has that id: load it into another store; nothing was written."""


class StoreCorrupt(StorageError):
    """The file is damaged or is not a MemoryOS store: restore it from a backup or name another path."""


class BlobMissing(StorageError):
    """The bytes of an attachment are not in the store: add them again; nothing was written."""


class CubeDamaged(StoreCorrupt):
    """A memory was altered or damaged: restore the store from a backup, or delete that memory."""


class StoreTooNew(StorageError):
    """The store was written by a newer MemoryOS: install that version or a later one, from a clone or a wheel."""


class EmbedderMismatch(StorageError):
    """The store's vectors come from another embedder: open the store with that one."""


class WrongKey(StorageError):
    """The encryption key does not fit the store: it is missing, another one, or the store is not encrypted."""


class IndexFailed(StorageError):
    """The candidate index failed; the store is unchanged."""


class IndexUnreachable(IndexFailed, StoreUnreachable):
    """The candidate index does not answer: try again when it does; the store is unchanged."""
