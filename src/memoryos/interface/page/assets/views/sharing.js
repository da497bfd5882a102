// Sharing: which other callers may use this user's memories, until when.
import { html, useState } from "../html.js";
import { ask, at } from "../api.js";
import { useAnswer } from "../asked.js";
import { Asking } from "../dialog.js";
import { Choice, Field } from "../field.js";
import { tell, Waiting, Wrong } from "../notice.js";
import { Stored } from "../stored.js";
import { Table } from "../table.js";
import { moment, say, sayName } from "../words.js";

const ACTIONS = ["read", "write", "share", "delete"];
const HOURS = { hour: 1, day: 24, week: 168, month: 720 };

export function Sharing({ owner, round }) {
  const [isSharing, share] = useState(false);
  const [revoked, revoke] = useState(null);
  const found = useAnswer(() => ask("GET", "/delegations", { owner }), [round]);
  const columns = [
    { label: say("to"), show: (one) => html`<${Stored} text=${one.to} most=${60} />` },
    { label: say("may"), show: (one) => one.actions.map((name) => sayName("action", name)).join(", ") },
    { label: say("by"), show: (one) => html`<${Stored} text=${one.by} most=${60} />` },
    { label: say("until"), show: (one) => moment(one.expires_at) },
    { label: "", show: (one) => html`<button type="button" class="danger" onClick=${() => revoke(one)}>${say("revoke")}</button>` },
  ];
  return html`<p>${say("sharing-told")}</p>
    <div class="filters"><button type="button" class="primary" onClick=${() => share(true)}>${say("share")}</button></div>
    <${Wrong} error=${found.error} again=${found.again} /><${Waiting} isLoading=${found.isLoading && !found.data} />
    ${found.data && html`<${Table} label=${say("view.sharing")} columns=${columns} rows=${found.data.items} />`}
    ${isSharing && html`<${Share} owner=${owner} onClose=${() => share(false)} onDone=${found.again} />`}
    ${revoked && html`<${Revoke} delegation=${revoked} owner=${owner} onClose=${() => revoke(null)} onDone=${found.again} />`}`;
}

function Share({ owner, onClose, onDone }) {
  const [actions, setActions] = useState(["read"]);
  const turn = (name) => setActions(actions.includes(name) ? actions.filter((one) => one !== name) : [...actions, name]);
  const act = async ({ to, time }) => {
    await ask("POST", "/delegations", { owner, body: { to, actions, ttl: HOURS[time] * 3600 } });
    tell(say("done.shared", { to }));
    onDone();
  };
  return html`<${Asking} title=${say("share")} verb=${say("share")} act=${act} onClose=${onClose} isReady=${actions.length > 0}>
    <p>${say("share-told", { user: owner.user })}</p>
    <${Field} label=${say("to")} name="to" required maxlength="200" hint=${say("to-told")} />
    <fieldset><legend>${say("may")}</legend>${ACTIONS.map((name) => html`<label class="check" key=${name}>
      <input type="checkbox" checked=${actions.includes(name)} onChange=${() => turn(name)} />${sayName("action", name)}</label>`)}</fieldset>
    <${Choice} label=${say("for-how-long")} name="time" value="day" options=${Object.keys(HOURS).map((one) => [one, say(`time.${one}`)])} />
  </${Asking}>`;
}

function Revoke({ delegation, owner, onClose, onDone }) {
  const act = async () => {
    await ask("DELETE", at`/delegations/${delegation.id}`, { owner });
    tell(say("done.revoked", { to: delegation.to }));
    onDone();
  };
  return html`<${Asking} title=${say("revoke")} verb=${say("revoke")} act=${act} onClose=${onClose} isDangerous>
    <p>${say("revoke-told", { to: delegation.to })}</p>
  </${Asking}>`;
}
