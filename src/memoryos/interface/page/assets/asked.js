// Asked: what components know of answers: one that comes at once, and a list that comes part by part.
import { useCallback, useEffect, useRef, useState } from "./html.js";
import { ask } from "./api.js";

const NOTHING = { data: null, error: null, isLoading: true };

// The answer to `make()`, asked again when `about` changes.
export function useAnswer(make, about) {
  const [state, set] = useState(NOTHING);
  const [round, again] = useState(0);
  useEffect(() => {
    let isWanted = true;
    set((before) => ({ ...before, error: null, isLoading: true }));
    make().then(
      (data) => isWanted && set({ data, error: null, isLoading: false }),
      (error) => isWanted && error.name !== "AbortError" && set({ data: null, error, isLoading: false }),
    );
    return () => {
      isWanted = false;
    };
  }, [...about, round]);
  return { ...state, again: useCallback(() => again((count) => count + 1), []) };
}

const EMPTY = { about: null, items: [], cursor: null, isDone: false, isLoading: false, error: null };

// A list of the server, part by part: `more()` asks for the next one with the cursor of the last. While another list is
// on its way, the items are still those of the one before it, and there is no more of them.
export function useListing(path, owner, query, { size = 200, round = 0 } = {}) {
  const [state, set] = useState(EMPTY);
  const about = JSON.stringify([path, owner, query, round]);
  const current = useRef(about);
  const busy = useRef(false);
  const load = (before) => {
    if (busy.current || before.isDone) return;
    busy.current = true;
    set({ ...before, isLoading: true, error: null });
    ask("GET", path, { owner, query: { ...query, limit: size, cursor: before.cursor } }).then(
      (found) => {
        if (current.current !== about) return;
        busy.current = false;
        set({ ...EMPTY, about, items: [...before.items, ...found.items], cursor: found.cursor, isDone: found.cursor === null });
      },
      (error) => {
        if (current.current !== about || error.name === "AbortError") return;
        busy.current = false;
        set({ ...before, isLoading: false, error });
      },
    );
  };
  useEffect(() => {
    current.current = about;
    busy.current = false;
    load(EMPTY);
  }, [about]);
  const more = () => state.about === about && !state.error && load(state);
  return { ...state, more, retry: () => load(state.about === about ? state : EMPTY) };
}
