// Topics: the segments of mid-term memory, by heat or by time, with their pages.
import { html, useMemo, useState } from "../html.js";
import { ask } from "../api.js";
import { useAnswer, useListing } from "../asked.js";
import { Choice } from "../field.js";
import { Labels, Measure, State, Tier } from "../marks.js";
import { PageRow } from "../memory_row.js";
import { Wrong } from "../notice.js";
import { go } from "../place.js";
import { Rows } from "../rows.js";
import { Stored } from "../stored.js";
import { day, say } from "../words.js";

const HEIGHT = 96;
const PAGE_HEIGHT = 98;
const ORDERS = {
  heat: (one, other) => other.heat - one.heat,
  time: (one, other) => other.at.localeCompare(one.at),
  size: (one, other) => other.pages - one.pages,
};

export function Topics({ owner, round, opened }) {
  const [archive, setArchive] = useState(false);
  const [order, setOrder] = useState("heat");
  const [shown, show] = useState(null);
  const found = useAnswer(() => ask("GET", "/segments", { owner, query: { archive } }), [archive, round]);
  const topics = useMemo(() => [...(found.data?.items ?? [])].sort(ORDERS[order]), [found.data, order]);
  const most = Math.max(...topics.map((topic) => topic.heat), 0);
  const orders = Object.keys(ORDERS).map((one) => [one, say(`order.${one}`)]);
  const topic = topics.find((one) => one.id === shown);
  return html`<div class="filters">
      <${Choice} label=${say("order")} value=${order} options=${orders} onChange=${(event) => setOrder(event.target.value)} />
      <label class="check"><input type="checkbox" checked=${archive} onChange=${() => setArchive(!archive)} />${say("with-archive")}</label>
    </div>
    <p class="small" aria-live="polite">${found.data && say("count.segment", { n: topics.length })}</p>
    <${Wrong} error=${found.error} again=${found.again} />
    <div class="beside">
      <${Rows} label=${say("view.topics")} items=${topics} height=${HEIGHT} isDone=${Boolean(found.data ?? found.error)} more=${() => {}} opened=${shown ?? opened}
        row=${(one) => html`<${TopicRow} topic=${one} most=${most} />`} onOpen=${(one) => show(one.id)} />
      ${topic && html`<section class="card" aria-labelledby="topic-title">
        <h2 id="topic-title"><${Stored} text=${topic.keywords.slice(0, 4).join(", ")} most=${120} /></h2>
        <p><${Stored} text=${topic.text} most=${1200} /></p>
        <p class="small">${say("visits", { n: topic.visits })} · ${say("interactions", { n: topic.interactions })}</p>
        <p><button type="button" onClick=${() => go({ memory: topic.id })}>${say("steer")}</button></p>
        <${PagesOf} key=${topic.id} topic=${topic} owner=${owner} round=${round} />
      </section>`}
    </div>`;
}

// The pages of a topic, of which there may be thousands.
function PagesOf({ topic, owner, round }) {
  const found = useListing("/pages", owner, { segment: topic.id }, { size: 50, round });
  return html`<h3>${say("pages")} <span class="count">${topic.pages}</span></h3>
    <${Wrong} error=${found.error} again=${found.retry} />
    <${Rows} label=${say("pages")} items=${found.items} height=${PAGE_HEIGHT} isDone=${found.isDone} more=${found.more} total=${topic.pages}
      row=${(page) => html`<${PageRow} page=${page} isTierShown=${false} />`} onOpen=${(page) => go({ memory: page.id })} />`;
}

function TopicRow({ topic, most }) {
  return html`<${Stored} class="row-title" text=${topic.keywords.slice(0, 4).join(", ") || topic.text} most=${120} />
    <span class="row-head"><${Measure} value=${topic.heat} most=${most} label=${say("heat")} /><span>${say("count.page", { n: topic.pages })}</span>
      <time datetime=${topic.at}>${day(topic.at)}</time>${topic.tier !== "mtm" && html`<${Tier} tier=${topic.tier} />`}<${State} state=${topic.state} /></span>
    <${Labels} labels=${topic.keywords.slice(4)} most=${6} />`;
}
