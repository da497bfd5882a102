// Field: one input with its label.
import { html, useId } from "./html.js";

export function Field({ label, hint, children, as: Tag = "input", ...more }) {
  const id = useId();
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <${Tag} id=${id} aria-describedby=${hint ? `${id}-hint` : undefined} ...${more}>${children}</${Tag}>
    ${hint && html`<p class="small" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}

export function Choice({ label, options, ...more }) {
  return html`<${Field} label=${label} as="select" ...${more}>
    ${options.map(([value, told]) => html`<option value=${value} selected=${value === more.value}>${told}</option>`)}
  </${Field}>`;
}
