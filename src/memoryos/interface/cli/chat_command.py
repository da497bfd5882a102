"""`memoryos chat`: talk with a model that has the memory, and see what was recalled for each answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from memoryos.errors import InvalidInput, MemoryOSError, ModelError, ModelNotConfigured, NotFound, Refused
from memoryos.infrastructure.vault.patience import apart
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Session, Tenant, User, open_memory
from memoryos.interface.cli.requests_command import show_preview
from memoryos.interface.faults import exit_code
from memoryos.regex import regex

if TYPE_CHECKING:
    from memoryos.memory import Memory
    from memoryos.operation.recall.hit import Hit
    from memoryos.operation.requests.memory_call import MemoryCall
    from memoryos.operation.requests.request_preview import RequestPreview

SHOWN = 5  # memories that are shown for each answer
WORDS_CHARS = 70  # of each
_HELP = "/context [QUESTION] shows what the memory has for it, /forget [WHAT] removes after a preview, /quit ends"
_YES = frozenset(("y", "yes", "yes please", "ok", "是", "是的", "好", "好的"))
_NO = frozenset(("n", "no", "no thanks", "no thank you", "否", "不", "不要", "不用", "不用了"))
_SIGNS = regex(r"[.,!。，！]")
_ORDERS = ("{}", "forget {}", "forget everything about {}", "忘掉关于{}的事")  # of which the first that is one counts


def chat(
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    session: Session = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Talk with the chat model and the memory, line by line (needs MEMORYOS_LLM_MODEL)."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, session=session) as memory:
        if not memory.settings.llm_model:
            raise ModelNotConfigured
        failed = apart(_Chat(memory, json=json).run)  # each of its calls has its own time to wait
    if failed:
        raise typer.Exit(failed)


class _Chat:
    """One chat."""

    def __init__(self, memory: Memory, *, json: bool) -> None:
        self._memory = memory
        self._json = json
        self._lines = _lines(json=json)
        self._kept: str | None = None  # a line that was read and not answered yet
        self._asked = ""  # the last question
        self._failed = 0  # the exit code of the last question that failed
        self._is_in_line = False  # whether a part of an answer was told, and its line not ended
        self._is_unasked = False  # whether the last line was an order whose preview failed

    def run(self) -> int:
        """Answer line by line; return the exit code."""
        while self._goes_on():
            pass
        return self._failed

    def _goes_on(self) -> bool:
        """Answer the next line; False after the last."""
        try:
            line = self._next()
            if line is None or line in ("/quit", "/exit"):
                return False
            self._answer(line)
        except ModelNotConfigured:
            raise
        except (ModelError, InvalidInput, NotFound, Refused) as error:
            self._fail(error)
        return True

    def _answer(self, line: str) -> None:
        is_unasked, self._is_unasked = self._is_unasked, False
        if is_unasked and (_says(line, _YES) or _says(line, _NO)):  # a script sends it whatever the preview was
            self._note("There was nothing to confirm")
            return
        command, _, rest = line.partition(" ")
        if command == "/context":
            self._context(rest.strip() or self._asked)
        elif command == "/forget":
            self._forget(rest.strip())
        elif command.startswith("/"):
            self._note(f"{command[:40]!r} is unknown: {_HELP}")
        elif not self._is_order(line):
            self._asked = line
            self._respond(line)

    def _next(self) -> str | None:
        """The next line; None after the last."""
        line, self._kept = self._kept, None
        return next(self._lines, None) if line is None else line

    def _is_order(self, line: str) -> bool:
        """Whether the line asks to remove, freeze or share something: that is shown, and done after a yes.

        Raises InvalidInput if it asks for that beside something else.
        """
        call = self._memory.requests.read(line)
        if not call.operation.needs_confirmation and not call.limit:
            return False
        self._preview(call)  # also if nothing is found: a model would say that it has forgotten it
        return True

    def _respond(self, question: str) -> None:
        try:
            pieces = self._memory.respond_stream(question)
            self._show_recalled(pieces.recalled)
            for piece in pieces:
                self._tell("piece", piece, ends=False)
                self._is_in_line = not self._json
        except KeyboardInterrupt:
            self._end_line()
            self._note("Stopped; nothing was stored")
            return
        finally:
            self._end_line()
        if self._json and pieces.answer:
            answer = pieces.answer
            told = {"text": answer.text, "model": answer.model, "usage": asdict(answer.usage)}
            render.print_line({"type": "answer", **told, "mark": answer.mark.to_dict() if answer.mark else None})

    def _end_line(self) -> None:
        if self._is_in_line:
            render.say("")
        self._is_in_line = False

    def _context(self, question: str) -> None:
        if not question:
            self._note("Ask something first, or write /context QUESTION")
            return
        self._tell("context", self._memory.context(question).text or "Nothing was found.")

    def _forget(self, what: str) -> None:
        self._is_unasked = True
        self._preview(_order(self._memory, what))

    def _preview(self, order: str | MemoryCall) -> None:
        self._is_unasked = True
        preview = self._memory.requests.preview(order)
        self._is_unasked = False
        self._confirm(preview)

    def _confirm(self, preview: RequestPreview) -> None:
        """Do what was shown if the next line says yes; one that says neither yes nor no is the next thing said."""
        self._show_preview(preview)
        said = self._next()
        if _says(said, _YES):
            self._tell("done", self._memory.requests.do(preview.call, confirm=preview.confirm).text)
            return
        self._note("Nothing was changed")
        self._kept = None if _says(said, _NO) else said

    def _show_recalled(self, hits: Sequence[Hit]) -> None:
        if self._json:
            render.print_line({"type": "recalled", "memories": [_recalled(hit) for hit in hits]})
            return
        for hit in hits[:SHOWN]:
            told = _recalled(hit)
            render.console().print(Text(f"  {told['score']:.2f}  {told['id']}  {told['text']}", "dim"))
        if len(hits) > SHOWN:
            render.console().print(Text(f"  … and {len(hits) - SHOWN:,} more", "dim"))

    def _show_preview(self, preview: RequestPreview) -> None:
        if self._json:
            render.print_line({"type": "preview", **preview.to_dict()})
            return
        show_preview(preview)
        render.say("Do it? yes or no")

    def _tell(self, kind: str, text: str, *, ends: bool = True) -> None:
        if self._json:
            render.print_line({"type": kind, "text": text})
        else:
            render.say(text, ends=ends)

    def _note(self, text: str) -> None:
        self._tell("note", f"{text}.")

    def _fail(self, error: MemoryOSError) -> None:
        self._failed = exit_code(error)
        if self._json:
            render.print_line({"type": "error", "error": type(error).__name__, "text": str(error)})
        else:
            render.error_console().print(f"Error: {error}", markup=False, soft_wrap=True)


def _says(line: str | None, words: frozenset[str]) -> bool:
    """Whether a line says one of these, and nothing else."""
    return " ".join(_SIGNS.sub(" ", line or "").casefold().split()) in words


def _order(memory: Memory, what: str) -> str:
    """The request that `/forget` stands for."""
    if not what:
        return "forget that"
    for order in _ORDERS:
        text = order.format(what)
        if memory.requests.read(text).operation == "forget":
            return text
    raise InvalidInput("/forget", f"{what[:40]!r} does not say what to forget", "Write e.g. /forget my old job")


def _recalled(hit: Hit) -> dict[str, object]:
    words = " ".join(hit.text.split())
    return {"id": hit.id, "kind": hit.kind.value, "score": hit.score, "text": render.shortened(words, WORDS_CHARS)}


def _lines(*, json: bool) -> Iterator[str]:
    """What is typed or piped in, without blank lines; an interrupt at the prompt ends it."""
    is_typed = sys.stdin.isatty() and not json
    if is_typed:
        render.error_console().print(Text(_HELP, "dim"))
    try:
        while (line := _next_line(is_typed=is_typed)) is not None:
            if line.strip():
                yield line.strip()
    except KeyboardInterrupt:
        render.error_console().print()


def _next_line(*, is_typed: bool) -> str | None:
    if is_typed:
        try:
            return input("> ")
        except EOFError:
            return None
    sent = sys.stdin.buffer.readline()
    try:
        return sent.decode() if sent else None
    except UnicodeDecodeError as error:
        raise InvalidInput("standard input", f"is not UTF-8 at byte {error.start}", "Convert it to UTF-8") from None
