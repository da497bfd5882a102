// Frame: the ways to the views, whose memory it is, the view itself, and the memory beside it.
import { html, useEffect, useRef, useState } from "./html.js";
import { ICON, Icon } from "./icons.js";
import { MemoryPanel } from "./memory_panel.js";
import { Notice } from "./notice.js";
import { OwnerForm, OwnerPicker } from "./owner_picker.js";
import { link, ownerOf, place } from "./place.js";
import { Preferences } from "./preferences.js";
import { PurposePicker } from "./purpose_picker.js";
import { session, signOut } from "./session.js";
import { VIEWS } from "./views.js";
import { Stored } from "./stored.js";
import { say } from "./words.js";

export function Frame() {
  const here = place.use();
  const [round, setRound] = useState(0);
  const main = useRef();
  const view = VIEWS.find((one) => one.name === here.view) ?? VIEWS[0];
  const owner = ownerOf(here);
  const again = () => setRound((count) => count + 1);
  useEffect(() => {
    document.title = `${say(`view.${view.name}`)} · MemoryOS`;
  }, [view, say("language")]);
  const isReady = owner || view.isOfStore;
  return html`<div class=${here.memory ? "frame with-panel" : "frame"}>
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>${say("skip")}</a>
    <nav class="side" aria-label=${say("views")}>
      <p class="brand"><img src=${ICON} alt="" width="24" height="24" />MemoryOS</p>
      <${OwnerPicker} />
      <ul>${VIEWS.map((one) => html`<li key=${one.name}><a href=${link({ view: one.name, memory: null })} aria-current=${one === view ? "page" : undefined}>
        <${Icon} name=${one.name} />${say(`view.${one.name}`)}</a></li>`)}</ul>
      <div class="side-end"><${Who} /><${Preferences} /></div>
    </nav>
    <main id="main" tabindex="-1" ref=${main} class=${`view view-${view.name}`}>
      <h1>${say(`view.${view.name}`)}</h1>
      ${isReady
        ? html`<${view.View} key=${`${view.name} ${JSON.stringify(owner)}`} owner=${owner} round=${round} onChange=${again} opened=${here.memory} />`
        : html`<${OwnerForm} />`}
    </main>
    ${here.memory && owner && html`<${MemoryPanel} id=${here.memory} owner=${owner} onChange=${again} />`}
    <${Notice} />
  </div>`;
}

function Who() {
  const { state, info } = session.use();
  if (state === "open") return html`<p class="small">${say("no-keys")}</p>`;
  return html`<div class="who">
    <p class="small">${say("signed-in")} <strong><${Stored} text=${info.identity} most=${60} /></strong><br />${say("tenant")} <${Stored} text=${info.tenant} most=${60} /></p>
    <${PurposePicker} />
    <button type="button" onClick=${() => { location.hash = ""; signOut(); }}>${say("sign-out")}</button>
  </div>`;
}
