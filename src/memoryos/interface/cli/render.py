"""Output: tables for people, one JSON document for programs. stdout is the result, stderr the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from memoryos.text import visible, visible_json

if TYPE_CHECKING:
    from memoryos.cube import MemCube
    from memoryos.operation.hierarchy.tuning import Tuned
    from memoryos.operation.recall.hit import Hit, TurnHit
    from memoryos.operation.recall.overview import Profile, SegmentView

ID_CHARS = 36  # of an id, which a person copies whole
SUMMARY_CHARS = 90  # of a segment's summary in a table
PIPE_WIDTH = 180  # characters of a wide table that no terminal shows
PAGE_CHARS = 2_000  # of a page in a table
PASSAGES = 3  # of a long page, in a table: those that answer best


def print_json(document: Any) -> None:
    """Print the JSON document of a command."""
    typer.echo(visible_json(json.dumps(document, ensure_ascii=False, indent=2)))


def print_line(document: Any) -> None:
    """Print one of the JSON documents of a command that prints several, on a line of its own."""
    typer.echo(visible_json(json.dumps(document, ensure_ascii=False)))


def say(text: str, *, ends: bool = True) -> None:
    """Print stored or generated text, with control characters escaped."""
    typer.echo(visible(text), nl=ends)


def in_one_line(text: str) -> str:
    """Text for a list with a line for each entry: what would end the line, or move in it, is escaped."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


class VisibleConsole(Console):
    """A console that escapes control characters, so that no text can control the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The segments of the printed object."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; in a terminal, a table that is longer than the screen goes through the pager (PAGER, or less)."""
        is_long = any(isinstance(one, Table) and one.row_count > self.height for one in objects)
        with self.pager() if is_long and self.is_terminal and not self.stderr else nullcontext():
            super().print(*objects, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Text for a cell or a line, with the width of its visible characters."""
        return super().render_str(visible(text), **options)


def console() -> Console:
    """The console for tables."""
    return VisibleConsole(highlight=False)


def wide_console() -> Console:
    """The console for wide tables: where no terminal tells its width, they are not cut at 80 characters."""
    return VisibleConsole(highlight=False, width=get_terminal_size((PIPE_WIDTH, 25)).columns)


def error_console() -> Console:
    """The console for errors."""
    return VisibleConsole(stderr=True, highlight=False)


def progress(*, quiet: bool, goes_away: bool = False) -> Progress:
    """A progress bar on stderr, so that stdout stays clean; it may go away when the work ends."""
    console = VisibleConsole(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[note]}"),
        console=console,
        disable=quiet,
        transient=goes_away,
    )


@contextmanager
def counted(doing: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on the screen for one task, which goes away when it ends; call it with (done, total)."""
    with progress(quiet=quiet or not VisibleConsole(stderr=True).is_terminal, goes_away=True) as bar:
        task = bar.add_task(doing, total=None, note="")
        yield lambda done, total: bar.update(task, completed=done, total=total)


def page_json(hit: Hit, turns: Iterable[TurnHit]) -> dict[str, Any]:
    """A page as data, with the matching passages."""
    from memoryos.operation.recall.hit import page_data

    found = [turn for turn in turns if turn.cube.id == hit.id]
    return {**page_data(hit, found), "passages": [turn.to_dict() for turn in found]}


def hits_table(title: str, hits: Sequence[Hit], turns: Sequence[TurnHit] = ()) -> Table:
    """Hits with date, score, relevance, topic, reason and id; long turns are shortened to the found passages."""
    table = Table(title=title, title_justify="left", show_lines=True, expand=True)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("when, score", no_wrap=True)
    table.add_column("relevance", justify="right", no_wrap=True)
    table.add_column("memory and why", ratio=1, overflow="fold")
    for number, hit in enumerate(hits, 1):
        table.add_row(
            str(number),
            f"{hit.at:%Y-%m-%d}\n[bold]{hit.score:.3f}[/]",
            "" if hit.relevance is None else f"{hit.relevance:.2f}",
            "\n".join(part for part in (escape(_told(hit, turns)), _dim(_why(hit)), _dim(hit.id)) if part),
        )
    return table


def _dim(text: str) -> str:
    return f"[dim]{text}[/]" if text else ""


def _told(hit: Hit, turns: Sequence[TurnHit]) -> str:
    found = [turn for turn in turns if turn.cube.id == hit.id]
    if len(hit.text) <= PAGE_CHARS or not any(turn.is_part for turn in found):
        return shortened(hit.text, PAGE_CHARS)
    best = sorted(found[:PASSAGES], key=lambda turn: (turn.index, turn.start))
    return "\n".join(f"{turn.turn.speaker or turn.turn.role.value}: {turn.quoted}" for turn in best)


def _why(hit: Hit) -> str:
    about = hit.cube.descriptive
    document = ", ".join(part for part in (about.title, about.source) if part)
    parts = " · ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in hit.parts.items())
    topic = f"topic: {hit.topic}" if hit.topic else ""
    mount = f"from {hit.mount}" if hit.mount else ""
    return escape(" | ".join(part for part in (mount, document, topic, parts, " ".join(hit.source_ids)) if part))


def segments_table(title: str, views: Iterable[SegmentView]) -> Table:
    """Segments with heat, size, time span and topic."""
    table = Table(title=title, title_justify="left", expand=True)
    for name in ("heat", "visits", "pages"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("first said", no_wrap=True)
    table.add_column("topic", ratio=1)
    table.add_column("summary", ratio=2)
    for view in views:
        table.add_row(
            f"{view.heat:.2f}",
            str(view.cube.behaviour.visits),
            str(len(view.page_ids)),
            f"{view.cube.descriptive.event_at:%Y-%m-%d}",
            escape(", ".join(view.keywords[:6])),
            escape(shortened(view.summary, SUMMARY_CHARS)),
        )
    return table


def listed_segments(views: Iterable[SegmentView]) -> Table:
    """Segments with id, heat, size and summary."""
    table = Table(title="Segments", title_justify="left", expand=True)
    table.add_column("id", no_wrap=True, min_width=ID_CHARS)
    for name in ("heat", "pages"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("topic", ratio=1)
    for view in views:
        told = shortened(f"{', '.join(view.keywords[:3])}: {view.summary}", SUMMARY_CHARS)
        table.add_row(view.cube.id, f"{view.heat:.2f}", str(len(view.page_ids)), escape(told))
    return table


def pages_table(title: str, pages: Iterable[MemCube]) -> Table:
    """Pages, oldest first."""
    table = Table(title=title, title_justify="left", expand=True)
    table.add_column("when", no_wrap=True)
    table.add_column("page", ratio=1, overflow="fold")
    for page in pages:
        table.add_row(f"{page.descriptive.event_at:%Y-%m-%d %H:%M}", escape(shortened(page.text, PAGE_CHARS)))
    return table


def profile_table(profile: Profile) -> Table:
    """The personas of the user and of the agent."""
    from memoryos.operation.recall.context import dated

    table = Table(title="Long-term personal memory", title_justify="left", expand=True)
    table.add_column("about", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("what is known", ratio=1, overflow="fold")
    table.add_column("pages", justify="right", no_wrap=True)
    for about, persona in (("user", profile.user), ("agent", profile.agent)):
        for cube in (*persona.profile, *persona.traits, *persona.facts):
            support = str(len(cube.descriptive.provenance)) if cube.descriptive.provenance else "stated"
            table.add_row(about, cube.kind.value, escape(dated(cube)), support)
    return table


def persona_table(cubes: Iterable[MemCube]) -> Table:
    """Profile fields and traits, as a search returns them."""
    from memoryos.operation.recall.context import dated

    table = Table(title="Profile and traits", title_justify="left", expand=True)
    for name in ("about", "kind"):
        table.add_column(name, no_wrap=True)
    table.add_column("what is known", ratio=1, overflow="fold")
    for cube in cubes:
        table.add_row(cube.subject or "", cube.kind.value, escape(dated(cube)))
    return table


def tuning_table(values: Iterable[Tuned]) -> Table:
    """The tuned values of a memory, with their reasons."""
    table = Table(title="Values in use", title_justify="left", expand=True)
    table.add_column("value", no_wrap=True)
    for name in ("is", "paper's", "bounds", "samples"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("why", ratio=1)
    for one in values:
        bounds = f"{one.low:g}–{one.high:g}"
        table.add_row(one.name, f"{one.value:g}", f"{one.default:g}", bounds, str(one.samples), escape(one.reason))
    return table


def shortened(text: str, chars: int) -> str:
    """The start of a text, with … if it goes on."""
    return text if len(text) <= chars else text[: chars - 1] + "…"
