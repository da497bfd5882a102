// Usage: what models were used for, what the store holds, and the values that it has tuned itself.
import { html } from "../html.js";
import { ask } from "../api.js";
import { useAnswer } from "../asked.js";
import { Waiting, Wrong } from "../notice.js";
import { sayReason } from "../own_words.js";
import { Table } from "../table.js";
import { number, say, sayName } from "../words.js";

export function Usage({ owner, round }) {
  const found = useAnswer(() => Promise.all([ask("GET", "/usage", { owner }), ask("GET", "/stats", { owner })]), [round]);
  if (!found.data) return html`<${Wrong} error=${found.error} again=${found.again} /><${Waiting} isLoading=${found.isLoading} />`;
  const [usage, stats] = found.data;
  const sizes = Object.entries(stats).filter(([, value]) => typeof value === "number");
  return html`<h2>${say("models")}</h2>
    ${usage.items.length ? html`<${Table} label=${say("models")} columns=${spent(usage.items[0])} rows=${usage.items} />` : html`<p class="nothing">${say("no-models")}</p>`}
    <h2>${say("sizes")}</h2>
    <dl class="figures">${sizes.map(([name, value]) => html`<div key=${name}><dt>${sayName("size", name)}</dt><dd>${number(value)}</dd></div>`)}</dl>
    <h2>${say("tuned")}</h2>
    <p class="small">${say("embedder")}: <code>${stats.embedder}</code></p>
    <${Table} label=${say("tuned")} columns=${tuned()} rows=${stats.tuning} />`;
}

const spent = (first) => Object.keys(first).map((name) => ({
  label: sayName("usage", name),
  isNumber: typeof first[name] === "number",
  show: (row) => shown(name, row[name]),
}));

const shown = (name, value) => (typeof value === "number" ? number(value) : name === "purpose" ? sayName("purpose", value) : String(value ?? ""));

const tuned = () => [
  { label: say("setting"), show: (row) => html`<code>${row.name}</code>` },
  { label: say("value"), show: (row) => number(row.value, 3), isNumber: true },
  { label: say("default"), show: (row) => number(row.default, 3), isNumber: true },
  { label: say("samples"), show: (row) => number(row.samples), isNumber: true },
  { label: say("reason"), show: (row) => sayReason(row.reason) },
];
