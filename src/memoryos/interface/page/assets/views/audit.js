// Audit: who did what to which memory, the latest first.
import { html, useState } from "../html.js";
import { ask } from "../api.js";
import { useListing } from "../asked.js";
import { Choice, Field } from "../field.js";
import { tell, Wrong } from "../notice.js";
import { go } from "../place.js";
import { session } from "../session.js";
import { Stored } from "../stored.js";
import { Table } from "../table.js";
import { moment, say, sayName } from "../words.js";

const ACTIONS = ["read", "write", "share", "delete", "administer"];
const DECISIONS = ["allowed", "refused", "failed"];

export function Audit({ owner, round }) {
  const [only, setOnly] = useState({});
  const [error, setError] = useState(null);
  const { info } = session.use();
  const query = { ...only, latest: true, tenant: info?.tenant };
  const found = useListing("/audit", only.isOfAll ? null : owner, { ...query, isOfAll: undefined }, { round });
  const set = (name, value) => setOnly({ ...only, [name]: value || undefined });
  const choices = (group, names) => [["", say("all")], ...names.map((one) => [one, sayName(group, one)])];
  const check = async () => {
    setError(null);
    try {
      const report = await ask("POST", "/audit/verify");
      tell(say(report.broken.length ? "audit-broken" : "audit-sound", { n: report.broken.length || report.entries }));
    } catch (problem) {
      setError(problem);
    }
  };
  return html`<div class="filters">
      <${Choice} label=${say("action")} value=${only.action ?? ""} options=${choices("action", ACTIONS)} onChange=${(event) => set("action", event.target.value)} />
      <${Choice} label=${say("decision")} value=${only.decision ?? ""} options=${choices("decision", DECISIONS)} onChange=${(event) => set("decision", event.target.value)} />
      <${Field} label=${say("caller")} defaultValue=${only.caller} onChange=${(event) => set("caller", event.target.value)} />
      <label class="check"><input type="checkbox" checked=${only.isOfAll} onChange=${() => set("isOfAll", !only.isOfAll)} />${say("all-users")}</label>
      <button type="button" onClick=${check}>${say("verify")}</button>
    </div>
    <${Wrong} error=${found.error ?? error} again=${found.retry} />
    ${found.isDone && !found.items.length ? html`<p class="nothing">${say("audit-off")}</p>` : html`<${Table} label=${say("view.audit")} columns=${columns()} rows=${found.items} isDone=${found.isDone} more=${found.more} />`}`;
}

const columns = () => [
  { label: say("when"), show: (entry) => moment(entry.at) },
  { label: say("caller"), show: (entry) => html`<${Stored} text=${entry.caller} most=${60} />` },
  { label: say("action"), show: (entry) => sayName("action", entry.action) },
  { label: say("operation"), show: (entry) => html`<code>${entry.operation}</code>` },
  { label: say("whose"), show: (entry) => entry.scope && html`<${Stored} text=${entry.scope.user} most=${60} />` },
  { label: say("memories"), show: (entry) => memoriesOf(entry) },
  { label: say("decision"), show: (entry) => html`<span class=${`decision decision-${entry.decision}`}>${sayName("decision", entry.decision)}</span>` },
];

const memoriesOf = ({ cubes }) => (cubes.length === 1
  ? html`<button type="button" class="plain" onClick=${() => go({ memory: cubes[0].id })}>${sayName("kind", cubes[0].kind ?? "memory")}<span class="unseen"> ${cubes[0].id}</span></button>`
  : cubes.length || "");
