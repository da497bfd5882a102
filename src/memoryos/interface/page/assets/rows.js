// Rows: a list of any length, of which only the rows in sight are on the page. All rows have one height.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { Waiting } from "./notice.js";
import { say } from "./words.js";

const BESIDE = 6; // rows above and below those in sight
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -Infinity, End: Infinity };

// `row(item)` is what one row shows; `more()` is called when the end comes near.
export function Rows({ label, items, height, row, onOpen, opened, total, more, isDone }) {
  const box = useRef();
  const [window_, setWindow] = useState({ top: 0, tall: 600 });
  const [active, setActive] = useState(0);
  const moved = useRef(false);
  const at = useRef(0); // the active row at this moment: a key may come before the last one is shown
  const go = (index) => {
    at.current = index;
    setActive(index);
  };
  const see = () => setWindow({ top: box.current.scrollTop, tall: box.current.clientHeight });
  useLayoutEffect(() => {
    see();
    const watching = new ResizeObserver(see);
    watching.observe(box.current);
    return () => watching.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(window_.top / height) - BESIDE);
  const last = Math.min(items.length, Math.ceil((window_.top + window_.tall) / height) + BESIDE);
  useEffect(() => {
    if (!isDone && last >= items.length - BESIDE) more();
  }, [last, items.length, isDone]);
  useLayoutEffect(() => {
    if (!moved.current || active !== at.current) return;
    moved.current = false;
    show(box.current, active, height);
    box.current.querySelector(`[data-row="${active}"]`)?.focus({ preventScroll: true });
  }, [active]);
  const step = (event) => {
    const by = STEPS[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(items.length - 1, at.current + by));
    moved.current ||= next !== at.current;
    go(next);
  };
  return html`<div class="rows" ref=${box} onScroll=${see} onKeyDown=${step}>
    <ul aria-label=${label} style=${{ height: `${items.length * height}px` }}>
      ${shownRows(first, last, active, items.length).map((index) => html`<li
        key=${items[index].id} aria-setsize=${total ?? (isDone ? items.length : -1)} aria-posinset=${index + 1}
        style=${{ top: `${index * height}px`, height: `${height}px` }}
      ><button type="button" class="row" data-row=${index} tabindex=${index === active ? 0 : -1}
        aria-current=${items[index].id === opened ? "true" : undefined}
        onFocus=${() => go(index)} onClick=${() => onOpen(items[index])}>${row(items[index])}</button></li>`)}
    </ul>
    <${Waiting} isLoading=${!isDone && !items.length} />
    ${isDone && !items.length && html`<p class="nothing">${say("nothing")}</p>`}
  </div>`;
}

// The rows in sight, and the one that has the focus wherever it is.
function shownRows(first, last, active, count) {
  const rows = Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index);
  if (active < count && (active < first || active >= last)) rows.push(active);
  return rows;
}

function show(box, index, height) {
  const top = index * height;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
}
