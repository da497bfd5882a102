// Stored: a text of the store on the page. It is data: shown as it is, and its invisible characters are made visible.
import { html } from "./html.js";

// Characters that turn the direction of text, or cannot be seen: what follows one could read as something else.
const HIDDEN = /([\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff])/;

export function Stored({ text, most = Infinity, as: Tag = "span", ...more }) {
  const whole = text ?? "";
  const parts = (whole.length > most ? `${start(whole, most)}…` : whole).split(HIDDEN);
  return html`<${Tag} dir="auto" ...${more} class=${`stored ${more.class ?? ""}`}>${parts.map(piece)}</${Tag}>`;
}

const piece = (part, index) => (index % 2 ? html`<span class="hidden-character">${named(part)}</span>` : part);

const named = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

// The first characters, without half of the last one.
function start(text, most) {
  const cut = text.slice(0, most);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}
