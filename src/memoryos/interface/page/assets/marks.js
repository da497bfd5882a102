// Marks: small signs beside a memory: its tier, its state, its labels, a measure.
import { html } from "./html.js";
import { Stored } from "./stored.js";
import { decimal, sayName } from "./words.js";

export const Tier = ({ tier }) => html`<span class=${`tier tier-${tier}`}>${sayName("tier", tier)}</span>`;

export const State = ({ state }) => (state === "generated" ? null : html`<span class=${`state state-${state}`}>${sayName("state", state)}</span>`);

export const Kind = ({ kind }) => html`<span class="kind">${sayName("kind", kind)}</span>`;

export const Labels = ({ labels, most = 6 }) => labels.length ? html`<span class="labels">${labels.slice(0, most).map(
  (label) => html`<${Stored} key=${label} class="label" text=${label} most=${40} />`,
)}</span>` : null;

// A bar for a value between 0 and the most there is.
export function Measure({ value, most, label }) {
  const part = most > 0 ? Math.max(0, Math.min(1, value / most)) : 0;
  return html`<span class="measure">
    <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="measure-all" width="100" height="6" rx="3" /><rect class="measure-part" width=${part * 100} height="6" rx="3" />
    </svg><span>${label && `${label} `}${decimal(value)}</span>
  </span>`;
}
