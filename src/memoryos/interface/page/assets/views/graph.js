// Graph: topics, the people, places and things that they name, and the words that link them. A topic is larger with more pages, and stronger in colour with more heat.
import { html, useMemo, useState } from "../html.js";
import { ask } from "../api.js";
import { useAnswer } from "../asked.js";
import { graphOf, laidOut } from "../graph_layout.js";
import { Waiting, Wrong } from "../notice.js";
import { go } from "../place.js";
import { Stored } from "../stored.js";
import { decimal, say } from "../words.js";

const WIDE = 960;
const HIGH = 620;

export function Graph({ owner, round }) {
  const found = useAnswer(() => ask("GET", "/segments", { owner }), [round]);
  const [near, setNear] = useState(null);
  const graph = useMemo(() => found.data && laidOut(graphOf(found.data.items), WIDE, HIGH), [found.data]);
  if (!graph) return html`<${Wrong} error=${found.error} again=${found.again} /><${Waiting} isLoading=${found.isLoading} />`;
  if (!graph.nodes.length) return html`<p class="nothing">${say("nothing")}</p>`;
  const isNear = (node) => near === null || node.id === near || graph.links.some((one) => touches(one, near) && touches(one, node.id));
  return html`<p class="small">${say("graph-told")}</p>
    <div class="card graph"><svg viewBox=${`0 0 ${WIDE} ${HIGH}`} role="group" aria-label=${say("view.graph")} onMouseLeave=${() => setNear(null)}>
      ${graph.links.map((one) => html`<line key=${`${one.from.id} ${one.to.id}`} class=${near === null || touches(one, near) ? "link" : "link far"} x1=${one.from.x} y1=${one.from.y} x2=${one.to.x} y2=${one.to.y} />`)}
      ${graph.nodes.map((node) => html`<${Node} key=${node.id} node=${node} isFar=${!isNear(node)} onNear=${() => setNear(node.id)} />`)}
    </svg></div>
    <details class="card"><summary>${say("as-list")}</summary><ul class="graph-list">
      ${graph.nodes.filter((node) => node.topic).map((node) => html`<li key=${node.id}>
        <button type="button" class="plain" onClick=${() => go({ memory: node.id })}><${Stored} text=${node.label} /></button> <span class="small">${say("count.page", { n: node.topic.pages })}, ${say("heat")} ${decimal(node.topic.heat)}: <${Stored} text=${[...node.topic.entities, ...node.topic.keywords].join(", ")} /></span>
      </li>`)}</ul></details>`;
}

const touches = (one, id) => one.from.id === id || one.to.id === id;

function Node({ node, isFar, onNear }) {
  const far = isFar ? " far" : "";
  if (!node.topic) return html`<g class=${`${node.isName ? "name" : "word"}${far}`} transform=${`translate(${node.x} ${node.y})`} onMouseEnter=${onNear}>
    ${node.isName ? html`<rect x="-5" y="-5" width="10" height="10" rx="2" />` : html`<circle r="4" />`}<text y="-9" direction="ltr">${node.label.slice(0, 24)}</text></g>`;
  const open = () => go({ memory: node.id });
  const press = (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), open());
  return html`<g class=${`topic${far}`} role="button" tabindex="0" aria-label=${`${node.label}, ${say("count.page", { n: node.topic.pages })}`}
      transform=${`translate(${node.x} ${node.y})`} onMouseEnter=${onNear} onFocus=${onNear} onClick=${open} onKeyDown=${press}>
    <circle class="under" r=${node.radius} /><circle r=${node.radius} style=${{ fillOpacity: 0.35 + 0.65 * node.warmth }} /><text y=${node.radius + 15}>${node.label.slice(0, 32)}</text></g>`;
}
