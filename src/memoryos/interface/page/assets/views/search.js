// Search: what memory finds for a question, and of which parts each score is made.
import { html, useState } from "../html.js";
import { ask } from "../api.js";
import { useAnswer } from "../asked.js";
import { Field } from "../field.js";
import { Kind, Labels, State, Tier } from "../marks.js";
import { Waiting, Wrong } from "../notice.js";
import { go } from "../place.js";
import { Stored } from "../stored.js";
import { sayText } from "../own_words.js";
import { decimal, moment, number, say, sayName } from "../words.js";

export function Search({ owner, round }) {
  const [asked, setAsked] = useState(null);
  const submit = (event) => {
    event.preventDefault();
    const { query, since, until, archive } = Object.fromEntries(new FormData(event.target));
    setAsked({ query, since: since || null, until: until || null, archive: archive ? true : null, explain: true });
  };
  return html`<form class="ask" role="search" onSubmit=${submit}>
      <${Field} label=${say("question")} name="query" type="search" dir="auto" required maxlength="4000" />
      <button type="submit" class="primary">${say("search")}</button>
      <details><summary>${say("more-filters")}</summary><div class="filters">
        <${Field} label=${say("since")} name="since" type="date" /><${Field} label=${say("until")} name="until" type="date" />
        <label class="check"><input type="checkbox" name="archive" />${say("with-archive")}</label>
      </div></details>
    </form>
    ${asked && html`<${Found} asked=${asked} owner=${owner} round=${round} />`}`;
}

function Found({ asked, owner, round }) {
  const found = useAnswer(() => ask("POST", "/search", { owner, body: asked }), [JSON.stringify(asked), round]);
  if (!found.data) return html`<${Wrong} error=${found.error} again=${found.again} /><${Waiting} isLoading=${found.isLoading} />`;
  const hits = rankedOf(found.data);
  return html`<p class="small" role="status">${say("found", { n: hits.length })}</p>
    <ol class="hits">${hits.map((hit) => html`<li key=${hit.id}><${FoundHit} hit=${hit} /></li>`)}</ol>`;
}

const rankedOf = ({ hits, facts = [] }) => [...hits, ...facts].sort((one, other) => other.score - one.score);

function FoundHit({ hit }) {
  return html`<article class="card hit">
    <button type="button" class="row" onClick=${() => go({ memory: hit.id })}>
      <span class="row-head"><${Kind} kind=${hit.kind} /><${Tier} tier=${hit.tier} /><${State} state=${hit.state} /><time datetime=${hit.at}>${moment(hit.at)}</time>
        ${hit.segment && hit.topic && html`<${Labels} labels=${hit.topic.split(", ")} most=${4} />`}</span>
      <${Stored} class="said" text=${sayText(hit)} most=${600} />
    </button>
    <${Score} hit=${hit} />
  </article>`;
}

// Bars from a common line: to the right what raised the score, to the left what lowered it.
function Score({ hit }) {
  const parts = Object.entries(hit.parts ?? {}).filter(([, value]) => Math.abs(value) >= 0.005);
  const most = Math.max(...parts.map(([, value]) => value), 1);
  const least = Math.min(...parts.map(([, value]) => value), 0);
  const box = `${least * 100} 0 ${(most - least) * 100} 8`;
  return html`<details class="score"><summary>${say("score")} <strong>${decimal(hit.score)}</strong>
      ${hit.relevance !== null && html` · ${say("relevance")} <strong>${number(hit.relevance * 100)} %</strong>`}</summary>
    <table><caption class="unseen">${say("score-parts")}</caption><tbody>${parts.map(([name, value]) => html`<tr key=${name}>
      <th scope="row">${sayName("part", name)}</th>
      <td><svg viewBox=${box} preserveAspectRatio="none" aria-hidden="true">
        <rect class=${value < 0 ? "part-less" : "part-more"} x=${Math.min(value, 0) * 100} width=${Math.abs(value) * 100} height="8" /></svg></td>
      <td class="number">${value > 0 ? "+" : ""}${decimal(value)}</td></tr>`)}</tbody></table>
  </details>`;
}
