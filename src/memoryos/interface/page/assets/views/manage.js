// Manage: what concerns everything of one owner: forget it, or one session of it.
import { html, useState } from "../html.js";
import { counted } from "../actions.js";
import { ask } from "../api.js";
import { useAnswer } from "../asked.js";
import { Asking } from "../dialog.js";
import { Field } from "../field.js";
import { tell, Waiting, Wrong } from "../notice.js";
import { say } from "../words.js";

export function Manage({ owner, onChange }) {
  const [open, setOpen] = useState(null);
  const [receipt, setReceipt] = useState(null);
  const ready = (event) => {
    event.preventDefault();
    setOpen({ session: new FormData(event.target).get("session").trim() || null });
  };
  const done = (found) => {
    setReceipt(found.receipt);
    tell(say("done.forgotten", { told: counted(found.memories) }));
    onChange();
  };
  return html`<section class="card narrow" aria-labelledby="forget">
      <h2 id="forget">${say("forget-all")}</h2>
      <p>${say("forget-all-told", { user: owner.user, agent: owner.agent ?? "default" })}</p>
      <form onSubmit=${ready}>
        <${Field} label=${say("property.session")} name="session" hint=${say("session-told")} />
        <button type="submit" class="danger">${say("preview")}</button>
      </form>
    </section>
    ${receipt && html`<section class="card narrow" aria-labelledby="receipt"><h2 id="receipt">${say("receipt")}</h2>
      <p class="small">${say("receipt-told")}</p><pre tabindex="0">${JSON.stringify(receipt, null, 1)}</pre></section>`}
    ${open && html`<${Forget} ...${open} owner=${owner} onClose=${() => setOpen(null)} onDone=${done} />`}`;
}

function Forget({ session, owner, onClose, onDone }) {
  const found = useAnswer(() => doomed(owner, session), [session]);
  const [typed, type] = useState("");
  const counts = found.data ?? {};
  const isNothing = found.data && !Object.values(counts).some((n) => n > 0);
  const act = async () => onDone(await ask("POST", "/forget", { owner: { ...owner, session } }));
  return html`<${Asking} title=${session ? say("forget-session", { session }) : say("forget-all")} verb=${say("forget")} act=${act} onClose=${onClose}
    isDangerous isReady=${found.data && !isNothing && typed === owner.user}>
    <${Wrong} error=${found.error} /><${Waiting} isLoading=${found.isLoading && !found.data} />
    ${isNothing && html`<p>${say("nothing")}</p>`}
    ${found.data && !isNothing && html`<p>${say("would-go")}</p>
      <ul class="preview">${Object.entries(counts).filter(([, n]) => n > 0).map(([kind, n]) => html`<li key=${kind}>${say(`count.${kind}`, { n })}</li>`)}
        ${session && html`<li>${say("preview.alone")}</li>`}</ul>
      <${Field} label=${say("type-user", { user: owner.user })} autocomplete="off" value=${typed} onInput=${(event) => type(event.target.value)} />`}
  </${Asking}>`;
}

// How many memories would go, by kind; of a session, its pages.
async function doomed(owner, session) {
  if (session) return { page: (await ask("GET", "/pages/count", { owner, query: { session } })).count };
  const of = (path, query) => ask("GET", path, { owner, query }).then((found) => found.count);
  const places = ["user", "agent"].flatMap((subject) => ["lpm", "archive"].map((tier) => ({ subject, tier })));
  const [page, segment, profile, ...facts] = await Promise.all([
    of("/pages/count"),
    of("/segments/count", { archive: true }),
    ask("GET", "/profile", { owner }),
    ...places.map((place) => of("/facts/count", place)),
  ]);
  const personas = [profile.user, profile.agent];
  const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
  return {
    page,
    segment,
    fact: sum(facts),
    trait: sum(personas.map((one) => one.traits.length)),
    profile: sum(personas.map((one) => Object.keys(one.profile).length)),
  };
}
