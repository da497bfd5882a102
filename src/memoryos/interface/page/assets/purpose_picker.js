// PurposePicker: what the requests of the page are for, one of the purposes that the key allows. Policies see it.
import { html } from "./html.js";
import { Choice } from "./field.js";
import { choosePurpose, session } from "./session.js";
import { Stored } from "./stored.js";
import { say } from "./words.js";

export function PurposePicker() {
  const { info, purpose } = session.use();
  const known = info?.purposes ?? [];
  if (known.length === 0) return null;
  if (known.length === 1) return html`<p class="small">${say("purpose")} <${Stored} text=${known[0]} most=${60} /></p>`; // of every request
  const options = [["", say("no-purpose")], ...known.map((one) => [one, one])];
  return html`<div class="purpose"><${Choice} label=${say("purpose")} options=${options} value=${purpose ?? ""}
    onChange=${(event) => choosePurpose(event.target.value || null)} /></div>`;
}
