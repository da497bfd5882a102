// Session: the key that was typed in, and what it is used for. Both are kept in this tab alone, each sent in one header alone.
import { held } from "./held.js";

const NAME = "memoryos.key";
const PURPOSE = "memoryos.purpose";

// state: asking (before the first answer), refused (a key is needed), open (without keys) or signed (with one)
export const session = held({ key: sessionStorage.getItem(NAME), purpose: sessionStorage.getItem(PURPOSE), state: "asking", info: null, notice: null });
let running = new AbortController();

export const key = () => session.get().key;
// What the requests are for; null as long as it is not known whether the key allows it.
export const purpose = () => (session.get().state === "signed" ? session.get().purpose : null);
export const signal = () => running.signal;

export function signIn(typed) {
  sessionStorage.setItem(NAME, typed);
  sessionStorage.removeItem(PURPOSE);
  restart({ key: typed, purpose: null, state: "asking", info: null, notice: null });
}

export function signOut(notice = null) {
  sessionStorage.removeItem(NAME);
  sessionStorage.removeItem(PURPOSE);
  restart({ key: null, purpose: null, state: "refused", info: null, notice });
}

export function admitted(info) {
  const { purpose } = session.get();
  const known = info?.purposes.includes(purpose) ? purpose : null;
  session.set({ ...session.get(), purpose: known, state: info ? "signed" : "open", info, notice: null });
}

export function choosePurpose(chosen) {
  if (chosen === null) sessionStorage.removeItem(PURPOSE);
  else sessionStorage.setItem(PURPOSE, chosen);
  restart({ ...session.get(), purpose: chosen });
}

// Answers to what the last key asked, or for another purpose, may still come: none of them reaches the page any more.
function restart(next) {
  running.abort();
  running = new AbortController();
  session.set(next);
}
