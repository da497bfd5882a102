// Held: one value outside the components. Those that use it are drawn again when it changes.
import { useEffect, useReducer } from "./html.js";

export function held(first) {
  const heard = new Set();
  let now = first;
  return {
    get: () => now,
    set(next) {
      now = next;
      for (const hear of [...heard]) hear();
    },
    use() {
      const [, draw] = useReducer((count) => count + 1, 0);
      const drawn = now;
      useEffect(() => {
        heard.add(draw);
        if (now !== drawn) draw(); // it changed after the first drawing, before this was heard
        return () => heard.delete(draw);
      }, []);
      return now;
    },
  };
}

// A choice of the person that this browser keeps, such as the language. Never a key.
export function kept(name, first) {
  const choice = held(localStorage.getItem(name) ?? first);
  const set = choice.set;
  choice.set = (next) => {
    localStorage.setItem(name, next);
    set(next);
  };
  return choice;
}
