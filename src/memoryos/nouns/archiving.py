"""Archiving: rules that archive the pages and facts that nobody uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from memoryos import arguments
from memoryos.caller import Action, doing
from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.contract import Writer
from memoryos.infrastructure.vault.records import JobKind
from memoryos.kinds import Kind
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.retention import COUNTED, UnusedRule, check_room
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text


@door
class Archiving(Noun):
    """The rules of one owner that archive pages and facts by their use."""

    def add(
        self,
        name: str,
        *,
        unused: timedelta | float,
        visits: int | None = None,
        tags: Sequence[str] = (),
        kinds: Sequence[Kind | str] = (Kind.PAGE,),
    ) -> UnusedRule:
        """Archive what was not used for `unused` (seconds or a timedelta), and return the rule.

        The rule is about `kinds`: pages, facts or both. The time begins when a search last found the memory, when it
        was stored, or when a page last said the fact. With `visits`, only what searches found at most that many times
        is archived; with `tags`, only what has all of them. A search finds archived memories unless it has
        `archive=False`, and what it finds becomes active again. Frozen memories are not archived. A rule of the same
        name is replaced. It takes ADMINISTER for every memory. Raises InvalidInput, PermissionDenied.
        """
        self._engine.admit_all(Action.ADMINISTER, self._scope)
        checked = checked_text("name", name, limit=ID_LIMIT)
        self._engine.protection.check_names("name", [checked])
        labels = self._engine.privacy(self._scope).value("tags", arguments.tags(tags))  # as memories have them
        most = None if visits is None else arguments.natural("visits", visits, most=arguments.MOST)
        rule = UnusedRule(checked, arguments.lifetime("unused", unused), most, labels, _counted(kinds))

        def write(writer: Writer) -> None:
            check_room(checked, writer.retention.unused_rules())
            writer.retention.write_unused_rule(rule)

        self._change(write)
        return rule

    def list(self) -> Listing[UnusedRule]:
        """List the rules of this owner, by name."""
        with self._engine.vault.read(self._scope.owner) as reader:
            return Listing(reader.retention.unused_rules())

    def remove(self, name: str) -> None:
        """Remove a rule; what it has archived stays so until it is used. It takes ADMINISTER for every memory.

        Raises NotFound, PermissionDenied.
        """
        self._engine.admit_all(Action.ADMINISTER, self._scope)
        checked = checked_text("name", name, limit=ID_LIMIT)

        def drop(writer: Writer) -> None:
            if not writer.retention.drop_unused_rule(checked):
                raise NotFound(f"there is no archiving rule {checked!r} of this user and agent")

        self._change(drop)

    def _change(self, change: Callable[[Writer], None]) -> None:
        def write() -> None:
            with self._engine.vault.write(self._scope.owner) as writer:
                change(writer)
                writer.enqueue(JobKind.ARCHIVE)

        doing(Action.ADMINISTER, write)
        self._engine.housekeeping.queued(self._scope)


def _counted(kinds: Sequence[Kind | str]) -> tuple[Kind, ...]:
    chosen = tuple(arguments.one_of("kinds", kind, Kind) for kind in arguments.ids("kinds", kinds))
    if not chosen or not set(chosen) <= set(COUNTED):
        raise InvalidInput("kinds", "has a kind whose use is not counted", "Pass page, fact or both")
    return chosen
