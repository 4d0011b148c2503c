/** JSON lines: a record of Prodigy, doccano or a Hugging Face dataset on every line. */

import { Text } from "./codepoints.js";
import { plural, visible } from "./dom.js";
import { UserError } from "./errors.js";
import { splitTag, taggedText } from "./tags.js";

const SPAN_KEYS = ["spans", "label", "labels", "entities"];
const TAG_KEYS = ["ner_tags", "tags", "labels"];

/** Read the text of a record and, if `annotated`, the entities in it and the types that are complete. */
export function readRecord(line, where, annotated) {
  const record = parsed(line, where);
  const ofWords = !("text" in record) && "tokens" in record;
  if (!annotated || ["reject", "ignore"].includes(record.answer)) {
    const plain = ofWords ? wordsOf(record, where).join(" ") : textOf(record, where);
    return { plain, given: [], complete: [] };
  }
  const complete = completeOf(record.complete ?? [], where);
  return { ...(ofWords ? readTokens(record, where) : readSpans(record, where)), complete };
}

function parsed(line, where) {
  let record;
  try {
    record = JSON.parse(line);
  } catch (error) {
    throw new UserError(`${where}: this is not JSON (${error.message}). Write one JSON object per line.`);
  }
  if (record === null || typeof record !== "object" || Array.isArray(record))
    throw new UserError(`${where}: expected an object with "text".`);
  return record;
}

function textOf(record, where) {
  if (typeof record.text === "string") return record.text;
  const keys = visible(Object.keys(record).slice(0, 8).join(", ")) || "no keys";
  throw new UserError(`${where}: the key "text" is missing or is not a string; found ${keys}.`);
}

function wordsOf({ tokens }, where) {
  if (Array.isArray(tokens) && tokens.every((word) => typeof word === "string" && word)) return tokens;
  throw new UserError(`${where}: “tokens” must be a list of words.`);
}

function readTokens(record, where) {
  const words = wordsOf(record, where);
  const key = TAG_KEYS.find((one) => one in record);
  const tags = key ? record[key] : words.map(() => "O");
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === "string" && splitTag(tag)))
    throw new UserError(`${where}: “${key}” must be a list of tags such as O, B-city or I-city.`);
  if (tags.length === words.length) return taggedText(words, tags);
  throw new UserError(`${where}: found ${plural(words.length, "token")} and ${plural(tags.length, "tag")}.`);
}

function readSpans(record, where) {
  const plain = textOf(record, where);
  const key = SPAN_KEYS.find((one) => Array.isArray(record[one]));
  return { plain, given: key ? entitiesOf(record[key], new Text(plain), `${where}, ${key}`) : [] };
}

function completeOf(types, where) {
  if (!Array.isArray(types) || !types.every((type) => typeof type === "string" && type))
    throw new UserError(`${where}: “complete” must be a list of types.`);
  return types;
}

function entitiesOf(list, text, where) {
  const entities = list.map((one, at) => {
    const parts = Array.isArray(one) ? one : [one?.start ?? one?.start_offset, one?.end ?? one?.end_offset, one?.label];
    const [start, end, type] = parts;
    const inside = Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start < end && end <= text.length;
    if (!inside || typeof type !== "string" || !type)
      throw new UserError(`${where}: entity ${at + 1} has offsets outside the text, or no type.`);
    return { start, end, type };
  });
  entities.sort((a, b) => a.start - b.start);
  for (let at = 1; at < entities.length; at += 1) {
    if (entities[at].start < entities[at - 1].end)
      throw new UserError(`${where}: two entities overlap, at character ${entities[at].start}.`);
  }
  return entities;
}
