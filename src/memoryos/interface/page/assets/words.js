// Words: what the page says, in the language that was chosen. Each language has one table with the same keys.
import { kept } from "./held.js";
import en from "./words_en.js";
import zh from "./words_zh.js";

export const TABLES = { en, zh };
export const NAMES = { en: "English", zh: "中文" };
const first = navigator.languages.some((one) => one.startsWith("zh")) && !navigator.language.startsWith("en") ? "zh" : "en";
export const language = kept("memoryos.language", first);

const table = () => TABLES[language.get()] ?? en;

// The words of a key. "{n} page|{n} pages" has a form for one and a form for others; values take the place of {names}.
export function say(key, values = {}) {
  const forms = (table()[key] ?? key).split("|");
  const form = forms.length > 1 && values.n !== 1 ? forms[1] : forms[0];
  return form.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? shown(values[name]) : whole));
}

// The words of a name that the server sent, such as a state; the name itself if there are none.
export const sayName = (group, name) => table()[`${group}.${name}`] ?? String(name);

export const locale = () => (language.get() === "zh" ? "zh-CN" : "en-GB");

const shown = (value) => (typeof value === "number" ? number(value) : String(value));

export const number = (value, digits = 0) => new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value);

export const decimal = (value) => new Intl.NumberFormat(locale(), { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value);

export function moment(told) {
  if (!told) return "";
  return new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" }).format(new Date(told));
}

export function day(told) {
  if (!told) return "";
  return new Intl.DateTimeFormat(locale(), { dateStyle: "medium" }).format(new Date(told));
}
