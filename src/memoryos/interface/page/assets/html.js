// What the modules write the page with: tagged templates that make nodes. A text in them is always a text node.
import { Fragment, h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { Fragment, render };
export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef, useState } from "./vendor/hooks.js";
