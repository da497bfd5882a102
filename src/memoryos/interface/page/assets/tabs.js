// Tabs: parts of one thing, of which one is shown. The arrow keys go from one to the next.
import { html, useId, useState } from "./html.js";

export function Tabs({ label, tabs }) {
  const [chosen, choose] = useState(tabs[0].name);
  const id = useId();
  const now = tabs.find((tab) => tab.name === chosen) ?? tabs[0];
  const step = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(now) + by + tabs.length) % tabs.length];
    choose(next.name);
    event.currentTarget.querySelector(`[data-tab="${next.name}"]`).focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${step}>
      ${tabs.map((tab) => html`<button key=${tab.name} type="button" role="tab" data-tab=${tab.name} id=${`${id}-${tab.name}`}
        aria-selected=${String(tab === now)} aria-controls=${`${id}-shown`} tabindex=${tab === now ? 0 : -1}
        onClick=${() => choose(tab.name)}>${tab.label}</button>`)}
    </div>
    <div role="tabpanel" class="tab" id=${`${id}-shown`} aria-labelledby=${`${id}-${now.name}`} tabindex="0">${now.show()}</div>`;
}
