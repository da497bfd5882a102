// Own words: what the program itself wrote in English, in the language of the page. Other texts stay as they are.
import { BOUND, CAUSES, GROUNDS, LEVELS, REASONS, TRAITS, WEIGHTS } from "./own_words_zh.js";
import { language, sayName } from "./words.js";

const isChinese = () => language.get() === "zh";

// A trait: "Openness (high): why". What the reason quotes is in the words of the talk.
export function sayTrait(text) {
  const found = isChinese() && /^([^():]+) \((low|medium|high)\): /.exec(text);
  return found && TRAITS[found[1]] ? `${TRAITS[found[1]]}（${LEVELS[found[2]]}）：${known(GROUNDS, text.slice(found[0].length))}` : text;
}

// The text of a memory.
export const sayText = (memory) => (isChinese() && TEXTS[memory.kind] ? TEXTS[memory.kind](memory) : memory.text);

// Whose words a turn has.
export const speakerOf = (turn) => turn.speaker ?? sayName("role", turn.role);

const TEXTS = {
  trait: ({ text }) => sayTrait(text),
  profile: ({ text }) => text.replace(/^(\w+): /, (whole, field) => `${sayName("field", field)}：`),
  page: ({ text, turns }) => (turns ? turns.map((turn) => `${speakerOf(turn)}：${wordsOf(turn)}`).join("\n") : text),
};

const wordsOf = ({ text, attachments = [] }) => [text, ...attachments.map((one) => `[${one.caption}]`)].filter(Boolean).join(" ");

// Why the state of a memory changed.
export const sayCause = (text) => (isChinese() ? known(CAUSES, sayName("cause", text)) : sayName("cause", text));

// A part of a memory that two versions do not share: "turns[0].text", or "metadata.place" with a name of the caller's.
export function sayPart(name) {
  const [first, ...rest] = name.split(".");
  const own = first === "metadata" ? rest : rest.map(partName);
  return [partName(first), ...own].join(".");
}

const partName = (part) => part.replace(/^[a-z_]+/, (word) => sayName("said", word));

// Why a tuned value is what it is.
export function sayReason(text) {
  if (!isChinese()) return text;
  const found = REASONS.find(([pattern]) => pattern.test(text));
  if (!found) return text;
  return filled(found, text).replace(...WEIGHTS) + (BOUND[0].test(text) ? filled(BOUND, text) : "");
}

// Rules, or a model by its name.
export const sayDeriver = (name) => sayName("deriver", name);

// The text in Chinese, by the first pattern that it has; else as it is.
function known(patterns, text) {
  const found = patterns.find(([pattern]) => pattern.test(text));
  return found ? filled(found, text) : text;
}

const filled = ([pattern, told], text) => pattern.exec(text).slice(1).reduce((words, value, index) => words.replace(`{${index}}`, () => value), told);
