// Jobs: the background work of one owner.
import { html, useState } from "../html.js";
import { ask } from "../api.js";
import { useAnswer } from "../asked.js";
import { Choice } from "../field.js";
import { tell, Waiting, Wrong } from "../notice.js";
import { go } from "../place.js";
import { Stored } from "../stored.js";
import { Table } from "../table.js";
import { moment, say, sayName } from "../words.js";

const CHOICES = { unfinished: ["queued", "leased", "dead"], done: ["done"], all: [] };

export function Jobs({ owner, round }) {
  const [chosen, choose] = useState("unfinished");
  const [error, setError] = useState(null);
  const found = useAnswer(() => ask("GET", "/jobs", { owner, query: { states: CHOICES[chosen] } }), [chosen, round]);
  const jobs = [...(found.data?.items ?? [])].reverse();
  const retry = async (ids) => {
    setError(null);
    try {
      const { count } = await ask("POST", "/jobs/retry", { owner, body: { job_ids: ids } });
      tell(say("done.retried", { n: count }));
      found.again();
    } catch (problem) {
      setError(problem);
    }
  };
  const columns = [
    { label: say("job-kind"), show: (job) => sayName("job", job.kind) },
    { label: say("property.state"), show: (job) => html`<span class=${`job-state job-${job.state}`}>${sayName("job-state", job.state)}</span>` },
    { label: say("attempts"), show: (job) => job.attempts, isNumber: true },
    { label: say("created"), show: (job) => moment(job.created_at) },
    { label: say("about"), show: (job) => job.cube_id && html`<button type="button" class="plain" onClick=${() => go({ memory: job.cube_id })}>${say("memory")}<span class="unseen"> ${job.cube_id}</span></button>` },
    { label: say("error"), show: (job) => job.error && html`<${Stored} text=${job.error} most=${200} />` },
    { label: "", show: (job) => job.state === "dead" && html`<button type="button" onClick=${() => retry([job.id])}>${say("try-again")}</button>` },
  ];
  return html`<div class="filters">
      <${Choice} label=${say("show")} value=${chosen} options=${Object.keys(CHOICES).map((one) => [one, say(`jobs.${one}`)])} onChange=${(event) => choose(event.target.value)} />
      <button type="button" onClick=${found.again}>${say("reload")}</button>
    </div>
    <${Wrong} error=${found.error ?? error} again=${found.again} /><${Waiting} isLoading=${found.isLoading && !found.data} />
    ${found.data && html`<${Table} label=${say("view.jobs")} columns=${columns} rows=${jobs} />`}`;
}
