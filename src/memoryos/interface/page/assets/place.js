// Place: what the address of the browser says: which view, which memory beside it, and whose memory it is.
import { held } from "./held.js";

const OWNER = ["user", "agent"];

export const place = held(read());
addEventListener("hashchange", () => place.set(read()));

export function go(change) {
  location.hash = written({ ...place.get(), ...change });
}

export const link = (change) => `#${written({ ...place.get(), ...change })}`;

// The owner, as the query of a request names it; null until there is a user. What is not private names its namespace.
export function ownerOf({ user, agent, namespace }) {
  return user ? { user, agent: agent || undefined, namespace: namespace.length ? namespace : undefined } : null;
}

function read() {
  const [path, query = ""] = location.hash.slice(1).split("?", 2);
  const [view = "", memory = ""] = path.split("/").filter(Boolean).map(decoded);
  const told = new URLSearchParams(query);
  const owner = Object.fromEntries(OWNER.map((name) => [name, told.get(name) ?? ""]));
  return { view: view || "overview", memory: memory || null, ...owner, namespace: told.getAll("namespace") };
}

function written({ view, memory, namespace, ...owner }) {
  const told = new URLSearchParams(OWNER.filter((name) => owner[name]).map((name) => [name, owner[name]]));
  for (const label of namespace) told.append("namespace", label);
  const path = [view, memory].filter(Boolean).map(encodeURIComponent).join("/");
  return `/${path}${told.size ? `?${told}` : ""}`;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
