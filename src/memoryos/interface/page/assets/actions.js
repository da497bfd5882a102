// Actions: what a person can do with one memory. The server decides whether they may.
import { html, useState } from "./html.js";
import { ask, at } from "./api.js";
import { useAnswer } from "./asked.js";
import { Asking } from "./dialog.js";
import { Choice, Field } from "./field.js";
import { tell, Waiting, Wrong } from "./notice.js";
import { sayText } from "./own_words.js";
import { Stored } from "./stored.js";
import { say, sayName } from "./words.js";

const EDITED = new Set(["page", "fact", "trait", "profile"]);

export function Actions(told) {
  const { memory } = told;
  const [open, setOpen] = useState(null);
  const isFrozen = memory.state === "frozen";
  const Opened = open && { edit: Edit, freeze: Freeze, expire: Expire, forget: Forget }[open];
  const button = (name, label, more = {}) => html`<button type="button" ...${more} onClick=${() => setOpen(name)}>${label}</button>`;
  return html`<div class="buttons actions">
      ${EDITED.has(memory.kind) && button("edit", say("edit"), { disabled: isFrozen })}
      ${button("freeze", say(isFrozen ? "thaw" : "freeze"))}
      ${button("expire", say("expire"), { disabled: isFrozen })}
      ${button("forget", say("forget"), { class: "danger", disabled: isFrozen })}
    </div>
    ${isFrozen && html`<p class="small">${say("frozen-told")}</p>`}
    ${Opened && html`<${Opened} ...${told} onClose=${() => setOpen(null)} />`}`;
}

function Edit({ memory, owner, onChange, onClose }) {
  const roles = [...new Set((memory.turns ?? []).map((turn) => turn.role))];
  const [role, setRole] = useState(roles[0]);
  const turn = memory.turns?.find((one) => one.role === role);
  const act = async ({ text, reason }) => {
    const words = turn ? { text, role } : { text };
    await ask("PATCH", at`/memories/${memory.id}`, { owner, body: { ...words, reason, expected_version: memory.version } });
    tell(say("done.changed"));
    onChange(false);
  };
  return html`<${Asking} title=${say("edit")} verb=${say("save")} act=${act} onClose=${onClose}>
    ${roles.length > 1 && html`<${Choice} label=${say("whose-words")} value=${role} options=${roles.map((one) => [one, sayName("role", one)])} onChange=${(event) => setRole(event.target.value)} />`}
    <${Field} key=${role} as="textarea" label=${say("text")} name="text" rows="8" dir="auto" required defaultValue=${turn ? turn.text : memory.text} />
    <${Field} label=${say("reason")} name="reason" maxlength="200" />
    <p class="small">${say("edit-told")}</p>
  </${Asking}>`;
}

// An action that takes a reason, and nothing else.
function withReason({ title, told, verb, path, done, isDangerous, isGone }) {
  return ({ memory, owner, onChange, onClose }) => {
    const act = async ({ reason }) => {
      await ask("POST", at`/memories/${memory.id}/` + path(memory), { owner, body: reason ? { reason } : {} });
      tell(say(done(memory)));
      onChange(isGone);
    };
    return html`<${Asking} title=${say(title(memory))} verb=${say(verb(memory))} act=${act} onClose=${onClose} isDangerous=${isDangerous}>
      <p>${say(told(memory))}</p>
      <${Field} label=${say("reason")} name="reason" maxlength="200" />
    </${Asking}>`;
  };
}

const freezing = (memory) => (memory.state === "frozen" ? "thaw" : "freeze");

const Freeze = withReason({
  title: freezing,
  verb: freezing,
  path: freezing,
  told: (memory) => `${freezing(memory)}-told`,
  done: (memory) => `done.${freezing(memory)}`,
  isGone: false,
});

const Expire = withReason({
  title: () => "expire",
  verb: () => "expire",
  path: () => "expire",
  told: () => "expire-told",
  done: () => "done.expire",
  isDangerous: true,
  isGone: true,
});

function Forget({ memory, owner, onChange, onClose }) {
  const found = useAnswer(() => ask("GET", at`/memories/${memory.id}/provenance`, { owner }), [memory.id]);
  const act = async () => {
    const done = await ask("POST", at`/memories/${memory.id}/erase`, { owner });
    tell(say("done.forgotten", { told: counted(done.memories) }));
    onChange(true);
  };
  const derived = found.data?.derived.length ?? 0;
  return html`<${Asking} title=${say("forget-one")} verb=${say("forget")} act=${act} onClose=${onClose} isDangerous isReady=${Boolean(found.data)}>
    <p>${say("forget-told")}</p>
    <${Stored} as="blockquote" text=${sayText(memory)} most=${400} />
    <${Wrong} error=${found.error} /><${Waiting} isLoading=${found.isLoading && !found.data} />
    ${found.data && html`<ul class="preview">
      <li>${say("preview.memory", { kind: sayName("kind", memory.kind) })}</li>
      <li>${say("preview.versions", { n: found.data.versions.length })}</li>
      <li>${derived ? say("preview.derived", { n: derived }) : say("preview.nothing-derived")}</li>
    </ul>`}
  </${Asking}>`;
}

// Numbers of memories by kind, in words.
export const counted = (memories) => Object.entries(memories).filter(([, n]) => n > 0).map(([kind, n]) => say(`count.${kind}`, { n })).join(", ");
