// OwnerPicker: whose memory is shown. A key that may list the owners gets a list; another one types the name.
import { html, useEffect, useState } from "./html.js";
import { ask } from "./api.js";
import { useAnswer } from "./asked.js";
import { Asking } from "./dialog.js";
import { Field } from "./field.js";
import { go, place } from "./place.js";
import { session } from "./session.js";
import { say } from "./words.js";

const MOST = 200; // owners in the list; others are typed in
const PRIVATE = "private";
const STORE_TENANT = "default"; // whose keys may do what concerns the whole store

export function OwnerPicker() {
  const here = place.use();
  const { info } = session.use();
  const [isTyping, setTyping] = useState(false);
  const tenant = info?.tenant ?? "default";
  const found = useAnswer(() => known(info, tenant), [tenant]);
  const owners = found.data ?? [];
  useEffect(() => {
    if (found.data?.length && !here.user) choose(found.data[0]);
  }, [found.data]);
  const now = JSON.stringify(placed(here));
  const isListed = owners.some((one) => JSON.stringify(placed(one)) === now);
  const pick = (event) => (event.target.value === "" ? setTyping(true) : choose(JSON.parse(event.target.value)));
  return html`<div class="owner">
    <label for="owner">${say("whose-memory")}</label>
    <select id="owner" value=${now} onChange=${pick}>
      ${!isListed && html`<option value=${now} selected>${here.user ? named(here) : "—"}</option>`}
      ${owners.map((one) => html`<option key=${named(one)} value=${JSON.stringify(placed(one))} selected=${JSON.stringify(placed(one)) === now}>${named(one)}</option>`)}
    </select>
    <button type="button" class="plain" onClick=${() => setTyping(true)}>${say("another-user")}</button>
    ${isTyping && html`<${Typed} onClose=${() => setTyping(false)} />`}
  </div>`;
}

function Typed({ onClose }) {
  const act = async (typed) => chooseTyped(typed);
  return html`<${Asking} title=${say("another-user")} verb=${say("show")} act=${act} onClose=${onClose}><${Names} /></${Asking}>`;
}

// What a view shows as long as nobody is chosen.
export function OwnerForm() {
  const submit = (event) => {
    event.preventDefault();
    chooseTyped(Object.fromEntries(new FormData(event.target)));
  };
  return html`<form class="card narrow" onSubmit=${submit}>
    <p>${say("choose-user")}</p><${Names} />
    <p><button type="submit" class="primary">${say("show")}</button></p>
  </form>`;
}

function Names() {
  const here = place.get();
  return html`<${Field} label=${say("user")} name="user" required defaultValue=${here.user} />
    <${Field} label=${say("agent")} name="agent" defaultValue=${here.agent} hint=${say("agent-told")} />`;
}

const chooseTyped = ({ user, agent }) => choose({ user: user.trim(), agent: agent.trim(), namespace: [] });

const choose = (owner) => go({ ...placed(owner), memory: null });

const placed = ({ user, agent, namespace }) => ({ user, agent: agent ?? "", namespace: namespace.join() === PRIVATE ? [] : namespace });

const named = ({ user, agent, namespace }) => [user, agent, ...placed({ user, agent, namespace }).namespace].filter(Boolean).join(" · ");

// The owners that a key may list: those of the store, or the users that it names. Policies may permit less.
async function known(info, tenant) {
  const named = (info?.users ?? []).map((user) => ({ user, agent: "default", namespace: [] }));
  const isOfStore = !info || (!info.users && info.tenant === STORE_TENANT && info.actions.includes("administer"));
  if (!isOfStore) return named;
  const found = await ask("GET", "/scopes", { query: { tenant, limit: MOST } }).catch((problem) => {
    if (problem.status !== 403) throw problem;
    return { items: named };
  });
  return found.items.filter((one) => one.agent !== null); // the address of a page names an agent
}
