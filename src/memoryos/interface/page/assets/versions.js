// Versions: what a memory said before, what each change changed, and the way back; and the states it went through.
import { html, useState } from "./html.js";
import { ask, at } from "./api.js";
import { useAnswer } from "./asked.js";
import { Asking } from "./dialog.js";
import { Field } from "./field.js";
import { tell, Waiting, Wrong } from "./notice.js";
import { sayCause, sayPart } from "./own_words.js";
import { Stored } from "./stored.js";
import { moment, say, sayName } from "./words.js";

export function Versions({ memory, owner, onChange }) {
  const found = useAnswer(() => ask("GET", at`/memories/${memory.id}/provenance`, { owner }), [memory.id, memory.version]);
  const [compared, compare] = useState(memory.version > 1 ? memory.version : null);
  const [restored, restore] = useState(null);
  if (!found.data) return html`<${Wrong} error=${found.error} again=${found.again} /><${Waiting} isLoading=${found.isLoading} />`;
  const versions = [...found.data.versions].reverse();
  return html`<ol class="versions">
      ${versions.map((one) => html`<li key=${one.number} class=${one.number === compared ? "chosen" : ""}>
        <p><strong>${say("version", { number: one.number })}</strong> ${sayName("change", one.change)} <span class="small">${moment(one.at)} · <${Stored} text=${one.by ?? ""} most=${60} /></span></p>
        ${one.reason && html`<p class="small"><${Stored} text=${one.reason} most=${300} /></p>`}
        <p class="buttons">
          ${one.number > 1 && html`<button type="button" aria-pressed=${String(one.number === compared)} onClick=${() => compare(one.number === compared ? null : one.number)}>${say("what-changed")}</button>`}
          ${one.number !== memory.version && html`<button type="button" onClick=${() => restore(one.number)}>${say("go-back")}</button>`}
        </p>
        ${one.number === compared && html`<${Difference} id=${memory.id} from=${one.number - 1} to=${one.number} owner=${owner} />`}
      </li>`)}
    </ol>
    ${restored && html`<${GoBack} memory=${memory} version=${restored} owner=${owner} onClose=${() => restore(null)} onDone=${onChange} />`}`;
}

function GoBack({ memory, version, owner, onClose, onDone }) {
  const act = async ({ reason }) => {
    await ask("POST", at`/memories/${memory.id}/rollback`, { owner, body: { version, reason } });
    tell(say("done.rolled-back", { number: version }));
    onDone(false);
  };
  return html`<${Asking} title=${say("go-back-to", { number: version })} verb=${say("go-back")} act=${act} onClose=${onClose}>
    <p>${say("go-back-told", { number: version })}</p>
    <${Difference} id=${memory.id} from=${memory.version} to=${version} owner=${owner} />
    <${Field} label=${say("reason")} name="reason" maxlength="200" />
  </${Asking}>`;
}

// What is in one version and not in the other; the server compares an older with a newer one, so the way back is turned.
function Difference({ id, from, to, owner }) {
  const query = { older: Math.min(from, to), newer: Math.max(from, to) };
  const found = useAnswer(() => ask("GET", at`/memories/${id}/diff`, { owner, query }), [id, from, to]);
  const signs = from < to ? { "-": "del", "+": "ins" } : { "-": "ins", "+": "del" };
  if (!found.data) return html`<${Wrong} error=${found.error} /><${Waiting} isLoading=${found.isLoading} />`;
  if (!found.data.changes.length) return html`<p class="small">${say("same")}</p>`;
  return found.data.changes.map((change) => html`<div class="difference" key=${change.field}>
    <p class="small"><${Stored} text=${sayPart(change.field)} /></p>
    <p>${change.unified.map((told, index) => word(told, index, signs))}</p>
  </div>`);
}

function word(told, index, signs) {
  if (told.startsWith("@@")) return index ? html`<span key=${index}> … </span>` : null;
  const Tag = signs[told[0]] ?? "span";
  return html`<${Tag} key=${index}><${Stored} text=${told.slice(1)} most=${2000} /></${Tag}> `;
}

export function Life({ memory, owner }) {
  const found = useAnswer(() => ask("GET", at`/memories/${memory.id}/transitions`, { owner }), [memory.id, memory.state]);
  if (!found.data) return html`<${Wrong} error=${found.error} again=${found.again} /><${Waiting} isLoading=${found.isLoading} />`;
  return html`<ol class="life">
    <li><p><strong>${sayName("state", "generated")}</strong> <span class="small">${moment(memory.recorded_at)}</span></p></li>
    ${found.data.items.map((one, index) => html`<li key=${index}>
      <p><strong>${sayName("state", one.after)}</strong> <span class="small">${moment(one.at)} · <${Stored} text=${one.by} most=${60} /></span></p>
      <p class="small"><${Stored} text=${sayCause(one.cause)} most=${300} /></p>
    </li>`)}
  </ol>`;
}
