// Main: starts the page.
import { html, render } from "./html.js";
import { App } from "./app.js";
import { showTheme } from "./theme.js";

showTheme();
render(html`<${App} />`, document.getElementById("page"));
