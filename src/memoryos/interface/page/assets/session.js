// Session: the key that was typed in. It is kept in this tab alone, and sent in one header alone.
import { held } from "./held.js";

const NAME = "memoryos.key";

// state: asking (before the first answer), refused (a key is needed), open (without keys) or signed (with one)
export const session = held({ key: sessionStorage.getItem(NAME), state: "asking", info: null, notice: null });
let running = new AbortController();

export const key = () => session.get().key;
export const signal = () => running.signal;

export function signIn(typed) {
  sessionStorage.setItem(NAME, typed);
  restart({ key: typed, state: "asking", info: null, notice: null });
}

export function signOut(notice = null) {
  sessionStorage.removeItem(NAME);
  restart({ key: null, state: "refused", info: null, notice });
}

export function admitted(info) {
  session.set({ ...session.get(), state: info ? "signed" : "open", info, notice: null });
}

// Answers to what the last key asked may still come: none of them reaches the page any more.
function restart(next) {
  running.abort();
  running = new AbortController();
  session.set(next);
}
