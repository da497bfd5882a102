"""`memoryos schedule`: which memories take part in an answer, in which form, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Session, Tenant, User, open_memory

if TYPE_CHECKING:
    from memoryos.operation.placement.answer_mode import ModeDecision
    from memoryos.operation.placement.form_log import FormDecision
    from memoryos.operation.placement.form_moves import MoveGrounds
    from memoryos.operation.placement.placement_plan import PlacementPlan
    from memoryos.operation.placement.state_log import StateDecision
    from memoryos.operation.placement.unchanged_forms import UnchangedForm

Query = Annotated[str, typer.Argument(help="The question.")]
Tokens = Annotated[
    int | None, typer.Option(min=0, help="Most tokens (default: MEMORYOS_CONTEXT_TOKENS).", show_default=False)
]
Ms = Annotated[float | None, typer.Option(min=0, help="Most milliseconds until the first token.", show_default=False)]
Bytes = Annotated[
    int | None, typer.Option("--bytes", min=0, help="Most bytes of KV caches and adapters.", show_default=False)
]


def explain(
    query: Query,
    tokens: Tokens = None,
    ms: Ms = None,
    size: Bytes = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    session: Session = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show which memories would take part in the answer to a question, in which form and order, and why."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, session=session, must_exist=True) as memory:
        plan = memory.schedule.explain(query, tokens=tokens, ms=ms, size_bytes=size)
    _show(plan, json=json)


def decide(
    query: Query,
    tokens: Tokens = None,
    ms: Ms = None,
    size: Bytes = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    session: Session = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Decide as `explain` does, count the use of each chosen memory, and log the decisions."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, session=session, must_exist=True) as memory:
        plan = memory.schedule.decide(query, tokens=tokens, ms=ms, size_bytes=size)
    _show(plan, json=json)


def log(
    limit: Annotated[int, typer.Option(min=1, help="How many of the latest decisions.")] = 20,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the latest decisions, newest first, and what was built, trained or removed behind each."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.schedule.log(limit=limit)
    if json:
        render.print_json({"placements": [one.to_dict() for one in found]})
        return
    for plan in found:
        chosen = sum(one.is_chosen for one in plan.decisions)
        known = f"{plan.number} {plan.at:%Y-%m-%d %H:%M} {plan.policy}, {_mode(plan.mode)}"
        render.say(f"{known}: {chosen} of {len(plan.decisions)} chosen")
        for one in plan.decisions:
            render.say(f"  {one.id} {one.form.value} {one.reason.value}")
        for form in plan.forms:
            render.say(f"  {_change(form)}")
    if not found:
        render.say("Nothing is logged.")


def moves(
    user: User = "default", agent: Agent = "default", tenant: Tenant = "default", db: Db = None, json: Json = False
) -> None:
    """List the changes of form that are due: text to KV, KV to an adapter, and back to text."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.schedule.moves()
    if json:
        render.print_json({"moves": [one.to_dict() for one in found]})
        return
    for one in found:
        render.say(f"{one.id}: {one.before.value} -> {one.after.value} ({one.reason.value})")
    if not found:
        render.say("No change is due.")


def _show(plan: PlacementPlan, *, json: bool) -> None:
    if json:
        render.print_json(plan.to_dict())
        return
    title = (
        f"{plan.tokens:,} tokens, about {plan.ms:,.0f} ms to the first token, policy {plan.policy}, {_mode(plan.mode)}"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("memory", no_wrap=True, min_width=render.ID_CHARS)
    for name in ("form", "chosen", "reason", "tokens", "ms"):
        table.add_column(name)
    for one in (*plan.chosen, *plan.left_out):
        is_chosen = "yes" if one.is_chosen else "no"
        table.add_row(one.id, one.form.value, is_chosen, one.reason.value, str(one.tokens), f"{one.ms:.0f}")
    render.console().print(table)
    for state in plan.states:
        place = "in memory" if state.is_kept else "not in memory"
        render.say(f"{state.at:%Y-%m-%d %H:%M} KV state {state.id}: {place} ({state.reason.value}){_kept(state)}")
    for form in plan.forms:
        render.say(f"{form.at:%Y-%m-%d %H:%M} {_change(form)}")
    for left in plan.unchanged:
        render.say(f"{left.at:%Y-%m-%d %H:%M} {_unchanged(left)}")


def _mode(one: ModeDecision) -> str:
    return f"{one.mode.value} ({one.reason.value})"


def _kept(state: StateDecision) -> str:
    known = state.grounds
    if known is None:
        return ""
    times = f"saves {known.saved_ms:,.0f} ms, loaded in {known.load_ms:,.0f} ms"
    return f": uses {known.uses}, heat {known.heat:g}, {times}, {known.size_bytes:,} bytes, chance {known.chance:.2f}"


def _change(form: FormDecision) -> str:
    count = form.memories or len(form.sources)
    told = f"{form.name}: {form.before.value} -> {form.after.value} ({form.reason.value}), {count} memories"
    return f"{told}: {_numbers(form.grounds)}"


def _unchanged(left: UnchangedForm) -> str:
    told = f"{left.name}: {left.before.value}, not {left.after.value} ({left.reason.value}), {left.memories} memories"
    often = f"decided {left.times} times since {left.since:%Y-%m-%d %H:%M}" if left.times > 1 else "decided once"
    return f"{told}, {often}: {_numbers(left.grounds)}"


def _numbers(known: MoveGrounds) -> str:
    days = f"unused for {known.unused_days:.1f} days, unchanged for {known.unchanged_days:.1f}"
    costs = f"KV would have saved {known.saved_ms:,.0f} ms and costs {known.cost_ms:,.0f} ms"
    return f"uses {known.uses}, heat {known.heat}, {costs}, {days}"
