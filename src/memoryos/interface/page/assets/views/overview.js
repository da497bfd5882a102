// Overview: the three tiers, side by side.
import { html } from "../html.js";
import { ask } from "../api.js";
import { useAnswer } from "../asked.js";
import { Measure } from "../marks.js";
import { PageRow } from "../memory_row.js";
import { Waiting, Wrong } from "../notice.js";
import { go, link } from "../place.js";
import { Stored } from "../stored.js";
import { number, say, sayName } from "../words.js";

const SHOWN = 6; // items of a tier

export function Overview({ owner, round }) {
  const found = useAnswer(() => everything(owner), [round]);
  if (!found.data) return html`<${Wrong} error=${found.error} again=${found.again} /><${Waiting} isLoading=${found.isLoading} />`;
  const { stats, recent, topics, profile } = found.data;
  return html`<div class="tiers">
      <${TierCard} tier="stm" view="timeline" count=${say("count.page", { n: stats.stm_pages })} told=${say("stm-told")}>
        ${recent.map((page) => html`<li key=${page.id}><button type="button" class="row" onClick=${() => go({ memory: page.id })}><${PageRow} page=${page} isTierShown=${false} /></button></li>`)}
      <//>
      <${TierCard} tier="mtm" view="topics" count=${`${say("count.segment", { n: stats.mtm_segments })} · ${say("count.page", { n: stats.mtm_pages })}`} told=${say("mtm-told")}>
        ${topics.map((topic) => html`<li key=${topic.id}><button type="button" class="row" onClick=${() => go({ memory: topic.id })}>
          <${Stored} class="row-title" text=${topic.keywords.slice(0, 4).join(", ")} most=${120} />
          <span class="row-head"><${Measure} value=${topic.heat} most=${topics[0].heat} label=${say("heat")} /><span>${say("count.page", { n: topic.pages })}</span></span>
        </button></li>`)}
      <//>
      <${TierCard} tier="lpm" view="knowledge" count=${`${say("count.fact", { n: stats.user_facts + stats.agent_facts })} · ${say("count.trait", { n: stats.traits })}`} told=${say("lpm-told")}>
        ${fieldsOf(profile).length > 0 && html`<li><dl class="fields">${fieldsOf(profile).map(([name, value]) => html`<div key=${name}><dt>${sayName("field", name)}</dt><dd><${Stored} text=${value} most=${120} /></dd></div>`)}</dl></li>`}
        ${profile.user.facts.slice(-SHOWN).reverse().map((fact) => html`<li key=${fact.id}><button type="button" class="row" onClick=${() => go({ memory: fact.id })}><${Stored} class="said" text=${fact.text} most=${300} /></button></li>`)}
      <//>
    </div>
    <dl class="figures">
      <${Figure} name=${say("archived-pages")} value=${stats.archived_pages} /><${Figure} name=${say("archived-segments")} value=${stats.archived_segments} />
      <${Figure} name=${say("jobs-waiting")} value=${stats.jobs_waiting + stats.jobs_planned} /><${Figure} name=${say("jobs-dead")} value=${stats.jobs_dead} />
    </dl>`;
}

const fieldsOf = (profile) => Object.entries(profile.user.profile);

const Figure = ({ name, value }) => html`<div><dt>${name}</dt><dd>${number(value)}</dd></div>`;

function TierCard({ tier, view, count, told, children }) {
  const isEmpty = !children.flat(2).some(Boolean);
  return html`<section class=${`card tier-card tier-card-${tier}`} aria-labelledby=${`tier-${tier}`}>
    <header><h2 id=${`tier-${tier}`}>${sayName("tier", tier)}</h2><p class="tier-count">${count}</p><p class="small">${told}</p></header>
    ${isEmpty ? html`<p class="nothing">${say("nothing")}</p>` : html`<ul>${children}</ul>`}
    <p class="card-end"><a href=${link({ view, memory: null })}>${say("see-all")}<span class="unseen"> ${sayName("tier", tier)}</span></a></p>
  </section>`;
}

async function everything(owner) {
  const [stats, recent, topics, profile] = await Promise.all([
    ask("GET", "/stats", { owner }),
    ask("GET", "/pages", { owner, query: { tier: "stm", limit: SHOWN, latest: true } }),
    ask("GET", "/segments", { owner }),
    ask("GET", "/profile", { owner }),
  ]);
  return { stats, recent: recent.items, topics: topics.items.slice(0, SHOWN + 2), profile };
}
