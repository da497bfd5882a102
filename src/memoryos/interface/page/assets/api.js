// Api: requests to the addresses below /v1 of this server, with the key and the purpose of the session.
import { key, purpose, session, signal, signOut } from "./session.js";

const BASE = new URL("../v1", document.baseURI).href;

// An answer of the server that says what is wrong (RFC 9457).
export class Problem extends Error {
  constructor(status, told) {
    super(told.detail ?? told.title ?? String(status));
    this.status = status;
    this.title = told.title ?? "";
    this.fix = told.fix ?? "";
    this.field = told.field ?? "";
  }
}

export async function ask(verb, path, { owner, query = {}, body } = {}) {
  const asked = session.get();
  const answer = await fetch(`${BASE}${path}${written({ ...owner, ...query })}`, request(verb, body)).catch(unreachable);
  const told = answer.status === 204 ? null : await answer.json().catch(() => ({}));
  if (isOver(asked)) throw new DOMException("asked by another key, or for another purpose", "AbortError");
  if (answer.ok) return told;
  if (answer.status === 401) signOut(asked.key ? "key-refused" : null);
  throw new Problem(answer.status, told);
}

// A path with an id or a name that may have any characters.
export const at = (parts, ...values) => parts.reduce((path, part, index) => path + encodeURIComponent(values[index - 1]) + part);

const isOver = (asked) => session.get().key !== asked.key || session.get().purpose !== asked.purpose;

function request(verb, body) {
  const headers = { Accept: "application/json" };
  if (key()) headers.Authorization = `Bearer ${key()}`;
  if (purpose()) headers["X-MemoryOS-Purpose"] = String.fromCharCode(...new TextEncoder().encode(purpose())); // UTF-8
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return { method: verb, headers, signal: signal(), body: body === undefined ? undefined : JSON.stringify(body), credentials: "omit" };
}

function unreachable(error) {
  if (error.name === "AbortError") throw error;
  throw new Problem(0, { title: "Unreachable", detail: String(error.message) });
}

function written(query) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") found.append(name, one);
    }
  }
  const text = found.toString();
  return text && `?${text}`;
}
