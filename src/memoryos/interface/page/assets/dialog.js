// Dialog: a question in front of the page. The browser keeps the focus in it and closes it with Escape.
import { html, useEffect, useId, useRef, useState } from "./html.js";
import { Wrong } from "./notice.js";
import { say } from "./words.js";

export function Dialog({ title, onClose, children, class: name = "" }) {
  const dialog = useRef();
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  return html`<dialog ref=${dialog} class=${name} aria-labelledby=${id} onClose=${onClose} onCancel=${onClose}>
    <h2 id=${id}>${title}</h2>
    ${children}
  </dialog>`;
}

// A form in a dialog: what is typed in goes to `act`, and the dialog closes when that is done.
export function Asking({ title, act, onClose, verb, isDangerous = false, isReady = true, children }) {
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await act(Object.fromEntries(new FormData(event.target)));
      onClose();
    } catch (problem) {
      if (problem.name === "AbortError") return;
      setError(problem);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>
      ${children}
      <${Wrong} error=${error} />
      <div class="buttons">
        <button type="button" onClick=${onClose}>${say("cancel")}</button>
        <button type="submit" class=${isDangerous ? "danger" : "primary"} disabled=${isBusy || !isReady}>${verb}</button>
      </div>
    </form>
  </${Dialog}>`;
}
