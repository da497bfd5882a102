// MemoryRow: a memory in a list.
import { html } from "./html.js";
import { Labels, State, Tier } from "./marks.js";
import { Stored } from "./stored.js";
import { speakerOf } from "./own_words.js";
import { day, moment } from "./words.js";

const SHOWN = 400; // characters; the row cuts what does not fit

export function PageRow({ page, isTierShown = true }) {
  return html`<span class="row-head">
      <time datetime=${page.at}>${moment(page.at)}</time>
      ${isTierShown && html`<${Tier} tier=${page.tier} />`}<${State} state=${page.state} /><${Labels} labels=${page.tags} most=${3} />
    </span>
    ${(page.turns ?? []).slice(0, 2).map((turn, index) => html`<span class="said" key=${index}>
      <${Stored} class="speaker" text=${speakerOf(turn)} most=${40} />${" "}<${Stored} text=${turn.text} most=${SHOWN} />
    </span>`)}
    ${!page.turns && html`<${Stored} class="said" text=${page.text} most=${SHOWN} />`}`;
}

export function FactRow({ fact }) {
  return html`<${Stored} class="fact-text" text=${fact.text} most=${SHOWN} />
    <span class="row-head"><time datetime=${fact.at}>${day(fact.at)}</time><${State} state=${fact.state} /><${Labels} labels=${fact.tags} most=${3} /></span>`;
}
