// MemoryPanel: one memory beside the view: what it says, its versions, its life, and where it comes from.
import { html, useEffect, useRef } from "./html.js";
import { Actions } from "./actions.js";
import { ask, at } from "./api.js";
import { useAnswer } from "./asked.js";
import { Evidence } from "./evidence.js";
import { Kind, Labels, State, Tier } from "./marks.js";
import { Waiting, Wrong } from "./notice.js";
import { go } from "./place.js";
import { Stored } from "./stored.js";
import { Tabs } from "./tabs.js";
import { Life, Versions } from "./versions.js";
import { sayText, speakerOf } from "./own_words.js";
import { moment, say, sayName } from "./words.js";

export function MemoryPanel({ id, owner, onChange }) {
  const found = useAnswer(() => ask("GET", at`/memories/${id}`, { owner }), [id, JSON.stringify(owner)]);
  const heading = useRef();
  const close = () => go({ memory: null });
  useEffect(() => {
    const before = document.activeElement; // the row that opened it
    return () => before?.isConnected && before.focus();
  }, []);
  useEffect(() => heading.current?.focus(), [id]);
  const changed = (isGone) => {
    onChange();
    if (isGone) close();
    else found.again();
  };
  const memory = found.data;
  const leave = (event) => event.key === "Escape" && !event.target.closest("dialog") && close();
  return html`<aside class="panel" aria-label=${say("memory")} onKeyDown=${leave}>
    <header>
      <h2 tabindex="-1" ref=${heading}>${memory ? sayName("kind", memory.kind) : say("memory")}</h2>
      <button type="button" class="close" aria-label=${say("close")} onClick=${close}>×</button>
    </header>
    <${Wrong} error=${found.error} again=${found.again} />
    ${!memory && html`<${Waiting} isLoading=${found.isLoading} />`}
    ${memory && html`<${Actions} memory=${memory} owner=${owner} onChange=${changed} />
      <${Tabs} key=${`${id} ${memory.version} ${memory.state}`} label=${say("memory")} tabs=${tabsOf(memory, owner, changed)} />`}
  </aside>`;
}

const tabsOf = (memory, owner, changed) => [
  { name: "words", label: say("tab.words"), show: () => html`<${Words} memory=${memory} />` },
  { name: "evidence", label: say("tab.evidence"), show: () => html`<${Evidence} memory=${memory} owner=${owner} />` },
  { name: "versions", label: say("tab.versions"), show: () => html`<${Versions} memory=${memory} owner=${owner} onChange=${changed} />` },
  { name: "life", label: say("tab.life"), show: () => html`<${Life} memory=${memory} owner=${owner} />` },
];

function Words({ memory }) {
  return html`<div class="words">
      ${memory.turns ? memory.turns.map((turn, index) => html`<${TurnSaid} key=${index} turn=${turn} />`) : html`<${Stored} as="p" text=${sayText(memory)} />`}
    </div>
    <dl class="properties">
      <${Property} name=${say("property.tier")}><${Tier} tier=${memory.tier} /><//>
      <${Property} name=${say("property.state")}>${sayName("state", memory.state)}<//>
      <${Property} name=${say("property.at")}>${moment(memory.at)}<//>
      <${Property} name=${say("property.recorded")}>${moment(memory.recorded_at)}<//>
      ${memory.expires_at && html`<${Property} name=${say("property.expires")}>${moment(memory.expires_at)}<//>`}
      ${memory.scope.session && html`<${Property} name=${say("property.session")}><${Stored} text=${memory.scope.session} /><//>`}
      ${memory.tags.length > 0 && html`<${Property} name=${say("property.tags")}><${Labels} labels=${memory.tags} most=${50} /><//>`}
      ${Object.entries(memory.metadata).map(([name, value]) => html`<${Property} key=${name} name=${name}><${Stored} text=${told(value)} most=${500} /><//>`)}
      ${["title", "source"].filter((name) => memory[name]).map((name) => html`<${Property} key=${name} name=${say(`property.${name}`)}><${Stored} text=${memory[name]} /><//>`)}
      <${Property} name=${say("property.version")}>${memory.version}<//>
      <${Property} name=${say("property.id")}><code>${memory.id}</code><//>
    </dl>`;
}

const told = (value) => (typeof value === "string" ? value : JSON.stringify(value));

const Property = ({ name, children }) => html`<div><dt>${name}</dt><dd>${children}</dd></div>`;

function TurnSaid({ turn }) {
  return html`<div class=${`turn turn-${turn.role}`}>
    <p class="turn-head"><${Stored} class="speaker" text=${speakerOf(turn)} most=${60} />${" "}<time datetime=${turn.at}>${moment(turn.at)}</time></p>
    <${Stored} as="p" text=${turn.text} />
    ${turn.attachments.map((one, index) => html`<p class="small" key=${index}>${say("attachment")}: <${Stored} text=${one.caption} most=${300} /></p>`)}
  </div>`;
}

export const MemoryMarks = ({ memory }) => html`<${Kind} kind=${memory.kind} /><${Tier} tier=${memory.tier} /><${State} state=${memory.state} />`;
