// Notice: what has just happened, for the eye and for screen readers; and what went wrong.
import { html, useEffect } from "./html.js";
import { held } from "./held.js";
import { say } from "./words.js";

const SECONDS = 6;
const notice = held(null);

export const tell = (text) => notice.set({ text });

export function Notice() {
  const now = notice.use();
  useEffect(() => {
    if (!now) return undefined;
    const timer = setTimeout(() => notice.set(null), SECONDS * 1000);
    return () => clearTimeout(timer);
  }, [now]);
  return html`<div class="notice" role="status" aria-live="polite">${now && html`<p>${now.text}</p>`}</div>`;
}

const KNOWN = { 0: "problem.unreachable", 401: "problem.401", 403: "problem.403", 404: "problem.404", 429: "problem.429" };

export function Wrong({ error, again }) {
  if (!error) return null;
  return html`<div class="wrong" role="alert">
    <p><strong>${KNOWN[error.status] ? say(KNOWN[error.status]) : say("problem.other")}</strong></p>
    ${error.field && html`<p>${say("problem.field", { field: error.field })}</p>`}
    <p class="small" lang="en">${error.message}${error.fix && ` — ${error.fix}`}</p>
    ${again && html`<button type="button" onClick=${again}>${say("try-again")}</button>`}
  </div>`;
}

export function Waiting({ isLoading }) {
  return isLoading ? html`<p class="waiting" aria-live="polite">${say("loading")}</p>` : null;
}
