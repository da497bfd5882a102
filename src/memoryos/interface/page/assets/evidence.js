// Evidence: where a memory comes from, and what was made of it.
import { html } from "./html.js";
import { ask, at } from "./api.js";
import { useAnswer } from "./asked.js";
import { Waiting, Wrong } from "./notice.js";
import { sayDeriver, sayText } from "./own_words.js";
import { go } from "./place.js";
import { Stored } from "./stored.js";
import { moment, say, sayName } from "./words.js";

const MOST = 40; // memories fetched for one list

export function Evidence({ memory, owner }) {
  const found = useAnswer(() => ask("GET", at`/memories/${memory.id}/provenance`, { owner }), [memory.id, memory.version]);
  const origin = found.data;
  if (!origin) return html`<${Wrong} error=${found.error} again=${found.again} /><${Waiting} isLoading=${found.isLoading} />`;
  return html`${memory.quote && html`<blockquote><${Stored} text=${memory.quote} /></blockquote>`}
    <p class="small">${say("origin", { origin: sayName("origin", origin.origin), trust: sayName("trust", origin.trust) })}
      ${origin.derived_by && ` ${say("derived-by", { by: sayDeriver(origin.derived_by) })}`}</p>
    ${origin.has_orders && html`<p class="warned">${say("has-orders")}</p>`}
    <${Related} title=${say("rests-on")} ids=${origin.derived_from.map((one) => one.id)} owner=${owner} />
    <${Related} title=${say("made-of-it")} ids=${origin.derived} owner=${owner} />
    ${origin.hidden + origin.more > 0 && html`<p class="small">${say("not-shown", { n: origin.hidden + origin.more })}</p>`}`;
}

// Some memories by their ids. One that is gone or may not be seen is left out.
export function Related({ title, ids, owner }) {
  const shown = ids.slice(0, MOST);
  const found = useAnswer(() => all(shown, owner), [shown.join()]);
  if (!ids.length) return html`<h3>${title}</h3><p class="small">${say("nothing")}</p>`;
  return html`<h3>${title} <span class="count">${ids.length}</span></h3>
    <${Wrong} error=${found.error} again=${found.again} /><${Waiting} isLoading=${found.isLoading && !found.data} />
    <ul class="related">${(found.data ?? []).map((one) => html`<li key=${one.id}>
      <button type="button" class="row" onClick=${() => go({ memory: one.id })}>
        <span class="row-head"><span class="kind">${sayName("kind", one.kind)}</span><time datetime=${one.at}>${moment(one.at)}</time></span>
        <${Stored} class="said" text=${sayText(one)} most=${300} />
      </button></li>`)}</ul>`;
}

async function all(ids, owner) {
  const asked = await Promise.allSettled(ids.map((id) => ask("GET", at`/memories/${id}`, { owner })));
  const broken = asked.find((one) => one.status === "rejected" && ![403, 404].includes(one.reason.status));
  if (broken) throw broken.reason;
  return asked.filter((one) => one.status === "fulfilled").map((one) => one.value);
}
