// Preferences: the language and the theme.
import { html } from "./html.js";
import { THEMES, showTheme, theme } from "./theme.js";
import { NAMES, language, say } from "./words.js";

export function Preferences() {
  const [tongue, colours] = [language.use(), theme.use()];
  const setTheme = (event) => {
    theme.set(event.target.value);
    showTheme();
  };
  return html`<div class="preferences">
    <select aria-label=${say("language")} value=${tongue} onChange=${(event) => language.set(event.target.value)}>
      ${Object.entries(NAMES).map(([value, name]) => html`<option value=${value} lang=${value} selected=${value === tongue}>${name}</option>`)}
    </select>
    <select aria-label=${say("theme")} value=${colours} onChange=${setTheme}>
      ${THEMES.map((one) => html`<option value=${one} selected=${one === colours}>${say(`theme.${one}`)}</option>`)}
    </select>
  </div>`;
}
