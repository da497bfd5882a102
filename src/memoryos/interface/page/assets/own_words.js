// Own words: what the program itself wrote in English, in the language of the page. Other texts stay as they are.
import { BOUND, LEVELS, REASONS, TRAITS, WEIGHTS } from "./own_words_zh.js";
import { language, sayName } from "./words.js";

const isChinese = () => language.get() === "zh";

// A trait: "Openness (high): why". The reason behind it is in the words of the talk.
export function sayTrait(text) {
  const found = isChinese() && /^([^():]+) \((low|medium|high)\): /.exec(text);
  return found && TRAITS[found[1]] ? `${TRAITS[found[1]]}（${LEVELS[found[2]]}）：${text.slice(found[0].length)}` : text;
}

// The text of a memory.
export const sayText = (memory) => (memory.kind === "trait" ? sayTrait(memory.text) : memory.text);

// Why a tuned value is what it is.
export function sayReason(text) {
  if (!isChinese()) return text;
  const known = REASONS.find(([pattern]) => pattern.test(text));
  if (!known) return text;
  return filled(known, text).replace(...WEIGHTS) + (BOUND[0].test(text) ? filled(BOUND, text) : "");
}

// Rules, or a model by its name.
export const sayDeriver = (name) => sayName("deriver", name);

const filled = ([pattern, told], text) => pattern.exec(text).slice(1).reduce((words, value, index) => words.replace(`{${index}}`, () => value), told);
