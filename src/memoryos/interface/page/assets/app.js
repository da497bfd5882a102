// App: who is there, and the frame around the views.
import { html, useEffect } from "./html.js";
import { ask } from "./api.js";
import { useAnswer } from "./asked.js";
import { Frame } from "./frame.js";
import { Waiting, Wrong } from "./notice.js";
import { admitted, session } from "./session.js";
import { SignIn } from "./sign_in.js";
import { language } from "./words.js";

export function App() {
  const chosen = language.use();
  const { state, key, purpose } = session.use();
  useEffect(() => {
    document.documentElement.lang = chosen === "zh" ? "zh-CN" : "en";
  }, [chosen]);
  if (state === "refused") return html`<${SignIn} />`;
  if (state === "asking") return html`<${Greeting} key=${key} />`;
  return html`<${Frame} key=${JSON.stringify([key, purpose])} />`;
}

// Asks the server what the key of the session opens, if it needs one.
function Greeting() {
  const found = useAnswer(() => ask("GET", "/keys/own"), []);
  useEffect(() => {
    if (found.data) admitted(found.data.key);
  }, [found.data]);
  return html`<main class="alone"><${Wrong} error=${found.error} again=${found.again} /><${Waiting} isLoading=${found.isLoading} /></main>`;
}
