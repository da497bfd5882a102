// SignIn: asks for the API key.
import { html } from "./html.js";
import { Field } from "./field.js";
import { ICON } from "./icons.js";
import { Preferences } from "./preferences.js";
import { session, signIn } from "./session.js";
import { say } from "./words.js";

export function SignIn() {
  const { notice } = session.get();
  const submit = (event) => {
    event.preventDefault();
    const typed = new FormData(event.target).get("key").trim();
    if (typed) signIn(typed);
  };
  return html`<main class="alone">
    <form class="sign-in" onSubmit=${submit}>
      <img src=${ICON} alt="" width="40" height="40" />
      <h1>${say("sign-in")}</h1>
      <p>${say("sign-in-told")}</p>
      ${notice && html`<div class="wrong" role="alert"><p>${say(notice)}</p></div>`}
      <${Field} label=${say("api-key")} name="key" type="password" autocomplete="off" spellcheck=${false} required hint=${say("key-kept")} />
      <button class="primary" type="submit">${say("sign-in")}</button>
    </form>
    <${Preferences} />
  </main>`;
}
