// Theme: light, dark, or as the system has it.
import { kept } from "./held.js";

export const THEMES = ["system", "light", "dark"];
export const theme = kept("memoryos.theme", "system");

export function showTheme() {
  const chosen = theme.get();
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}
