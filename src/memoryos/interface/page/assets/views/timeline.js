// Timeline: every page, the latest first.
import { html, useState } from "../html.js";
import { ask } from "../api.js";
import { useAnswer, useListing } from "../asked.js";
import { Choice, Field } from "../field.js";
import { PageRow } from "../memory_row.js";
import { Wrong } from "../notice.js";
import { go } from "../place.js";
import { Rows } from "../rows.js";
import { say, sayName } from "../words.js";

const HEIGHT = 98;

export function Timeline({ owner, round, opened }) {
  const [only, setOnly] = useState({});
  const found = useListing("/pages", owner, { ...only, latest: only.oldest ? undefined : true, oldest: undefined }, { round });
  const { oldest, ...counted } = only;
  const count = useAnswer(() => ask("GET", "/pages/count", { owner, query: counted }), [JSON.stringify(only), round]);
  return html`<${Filters} only=${only} onChange=${setOnly} />
    <p class="small" aria-live="polite">${count.data && say("count.page", { n: count.data.count })}</p>
    <${Wrong} error=${found.error} again=${found.retry} />
    <${Rows} key=${JSON.stringify(only)} label=${say("view.timeline")} items=${found.items} height=${HEIGHT} isDone=${found.isDone} more=${found.more} opened=${opened}
      total=${count.data?.count} row=${(page) => html`<${PageRow} page=${page} />`} onOpen=${(page) => go({ memory: page.id })} />`;
}

function Filters({ only, onChange }) {
  const set = (name, value) => onChange({ ...only, [name]: value || undefined });
  const tiers = [["", say("all-tiers")], ...["stm", "mtm", "archive"].map((one) => [one, sayName("tier", one)])];
  const orders = [["", say("latest-first")], ["yes", say("oldest-first")]];
  return html`<div class="filters" role="search" aria-label=${say("filter")}>
    <${Choice} label=${say("property.tier")} value=${only.tier ?? ""} options=${tiers} onChange=${(event) => set("tier", event.target.value)} />
    <${Choice} label=${say("order")} value=${only.oldest ?? ""} options=${orders} onChange=${(event) => set("oldest", event.target.value)} />
    <${Field} label=${say("since")} type="date" defaultValue=${only.since} onChange=${(event) => set("since", event.target.value)} />
    <${Field} label=${say("until")} type="date" defaultValue=${only.until} onChange=${(event) => set("until", event.target.value)} />
    <${Field} label=${say("property.session")} defaultValue=${only.session} onChange=${(event) => set("session", event.target.value)} />
    <${Field} label=${say("property.tags")} defaultValue=${(only.tags ?? []).join(", ")} onChange=${(event) => set("tags", labels(event.target.value))} />
  </div>`;
}

const labels = (typed) => {
  const found = typed.split(/[,，]/).map((one) => one.trim()).filter(Boolean);
  return found.length ? found : undefined;
};
