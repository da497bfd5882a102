// Knowledge: the profile, the traits and the facts of long-term memory.
import { html, useState } from "../html.js";
import { ask, at } from "../api.js";
import { useAnswer, useListing } from "../asked.js";
import { Asking } from "../dialog.js";
import { Choice, Field } from "../field.js";
import { State } from "../marks.js";
import { FactRow } from "../memory_row.js";
import { tell, Waiting, Wrong } from "../notice.js";
import { go } from "../place.js";
import { Rows } from "../rows.js";
import { Stored } from "../stored.js";
import { sayTrait } from "../own_words.js";
import { day, say, sayName } from "../words.js";

const HEIGHT = 82;

export function Knowledge({ owner, round, opened, onChange }) {
  const [subject, setSubject] = useState("user");
  const [tier, setTier] = useState("lpm");
  const [open, setOpen] = useState(null);
  const profile = useAnswer(() => ask("GET", "/profile", { owner }), [round]);
  const facts = useListing("/facts", owner, { subject, tier }, { round });
  const close = () => setOpen(null);
  const persona = profile.data?.[subject];
  return html`<div class="filters">
      <${Choice} label=${say("about")} value=${subject} options=${["user", "agent"].map((one) => [one, sayName("subject", one)])} onChange=${(event) => setSubject(event.target.value)} />
      <${Choice} label=${say("property.tier")} value=${tier} options=${["lpm", "archive"].map((one) => [one, sayName("tier", one)])} onChange=${(event) => setTier(event.target.value)} />
      <button type="button" class="primary" onClick=${() => setOpen("fact")}>${say("add-fact")}</button>
      <button type="button" onClick=${() => setOpen({ field: "", value: "" })}>${say("set-field")}</button>
    </div>
    <${Wrong} error=${profile.error ?? facts.error} again=${profile.error ? profile.again : facts.retry} />
    <${Waiting} isLoading=${!persona && profile.isLoading} />
    <div class="knowledge">
      <section class="card" aria-labelledby="facts"><h2 id="facts">${say("facts")}</h2>
        <${Rows} key=${`${subject} ${tier}`} label=${say("facts")} items=${facts.items} height=${HEIGHT} isDone=${facts.isDone} more=${facts.more} opened=${opened}
          row=${(fact) => html`<${FactRow} fact=${fact} />`} onOpen=${(fact) => go({ memory: fact.id })} />
      </section>
      ${persona && html`<div><${Fields} persona=${persona} onEdit=${setOpen} /><${Traits} persona=${persona} /></div>`}
    </div>
    ${open === "fact" && html`<${AddFact} owner=${owner} subject=${subject} onClose=${close} onDone=${onChange} />`}
    ${open?.value !== undefined && html`<${SetField} ...${open} owner=${owner} subject=${subject} onClose=${close} onDone=${onChange} />`}`;
}

function Fields({ persona, onEdit }) {
  const fields = Object.entries(persona.profile);
  return html`<section class="card" aria-labelledby="profile"><h2 id="profile">${say("profile")}</h2>
    ${!fields.length && html`<p class="nothing">${say("nothing")}</p>`}
    <dl class="fields">${fields.map(([field, value]) => html`<div key=${field}><dt>${sayName("field", field)}</dt>
      <dd><${Stored} text=${value} most=${300} /><span class="small since">${say("since-day", { day: day(persona.since[field]) })}</span></dd>
      <dd><button type="button" class="plain" onClick=${() => onEdit({ field, value })}>${say("edit")}<span class="unseen"> ${sayName("field", field)}</span></button></dd>
    </div>`)}</dl>
  </section>`;
}

function Traits({ persona }) {
  return html`<section class="card" aria-labelledby="traits"><h2 id="traits">${say("traits")}</h2>
    <p class="small">${say("traits-told")}</p>
    ${!persona.traits.length && html`<p class="nothing">${say("nothing")}</p>`}
    <ul class="traits">${persona.traits.map((trait) => html`<li key=${trait.id}><button type="button" class="row" onClick=${() => go({ memory: trait.id })}>
      <${Stored} class="said" text=${sayTrait(trait.text)} most=${200} />
      <span class="row-head"><span>${say("evidence", { n: trait.provenance.length })}</span><${State} state=${trait.state} /></span>
    </button></li>`)}</ul>
  </section>`;
}

function AddFact({ owner, subject, onClose, onDone }) {
  const act = async ({ text }) => {
    await ask("POST", "/facts", { owner, body: { text, subject } });
    tell(say("done.added"));
    onDone();
  };
  return html`<${Asking} title=${say("add-fact")} verb=${say("add")} act=${act} onClose=${onClose}>
    <${Field} as="textarea" rows="3" label=${say("text")} name="text" dir="auto" required />
  </${Asking}>`;
}

function SetField({ field, value, owner, subject, onClose, onDone }) {
  const act = async (typed) => {
    await ask("PUT", at`/profile/${field || typed.field}`, { owner, body: { value: typed.value, subject } });
    tell(say("done.changed"));
    onDone();
  };
  return html`<${Asking} title=${field ? sayName("field", field) : say("set-field")} verb=${say("save")} act=${act} onClose=${onClose}>
    ${!field && html`<${Field} label=${say("field-name")} name="field" required />`}
    <${Field} label=${say("value")} name="value" dir="auto" required defaultValue=${value} />
  </${Asking}>`;
}
