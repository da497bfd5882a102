// Table: rows with the same columns; the first hundreds at once, more when they are asked for.
import { html, useState } from "./html.js";
import { say } from "./words.js";

const STEP = 100;

export function Table({ label, columns, rows, more, isDone = true }) {
  const [shown, show] = useState(STEP);
  if (!rows.length && isDone) return html`<p class="nothing">${say("nothing")}</p>`;
  const next = () => {
    if (shown >= rows.length - STEP && !isDone) more();
    show(shown + STEP);
  };
  return html`<div class="table" tabindex="0" role="region" aria-label=${label}><table>
      <thead><tr>${columns.map((column, index) => html`<th key=${index} scope="col">${column.label || html`<span class="unseen">${say("actions")}</span>`}</th>`)}</tr></thead>
      <tbody>${rows.slice(0, shown).map((row, index) => html`<tr key=${row.id ?? index}>
        ${columns.map((column, place) => html`<td key=${place} class=${column.isNumber ? "number" : ""}>${column.show(row)}</td>`)}
      </tr>`)}</tbody>
    </table></div>
    ${(shown < rows.length || !isDone) && html`<p><button type="button" onClick=${next}>${say("more")}</button></p>`}`;
}
