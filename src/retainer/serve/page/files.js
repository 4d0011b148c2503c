/** Reads a file of texts: one text per line, or JSON lines with "text" (and perhaps entities). */

import { Text } from "./codepoints.js";
import { plural, visible } from "./dom.js";
import { UserError } from "./errors.js";
import { limits } from "./server.js";

const MAX_BYTES = 8 * 2 ** 20;
const MAX_TEXTS = 5000;
const LARGER = "For larger files use “retainer predict --input”.";
const OBJECT = /^[ \t]*\{\s*("[^"]*"\s*:|\}?\s*$)/;
const LIST = /^[ \t]*\[\s*(\{|$)/;
const SPAN_KEYS = ["spans", "label", "labels", "entities"];

/**
 * Read a file. Returns a list of {plain, given, complete}: a text, the entities that the file already has in it, and
 * the types of which it has all.
 * @param {File} file
 */
export async function readFile(file) {
  const name = visible(file.name);
  if (file.size > MAX_BYTES) {
    const size = Math.ceil(file.size / 2 ** 20);
    throw new UserError(`${name} has ${size} MB; the page takes at most ${MAX_BYTES / 2 ** 20}. ${LARGER}`);
  }
  const records = parse(decode(new Uint8Array(await file.arrayBuffer()), name), name);
  if (!records.length) throw new UserError(`${name} holds no text.`);
  requireCount(records.length, name);
  return records;
}

/** Refuse more texts than the page takes. */
export function requireCount(count, where) {
  if (count > MAX_TEXTS)
    throw new UserError(`${where} holds ${plural(count, "text")}; the page takes at most ${MAX_TEXTS}. ${LARGER}`);
}

function decode(bytes, name) {
  if (bytes.includes(0))
    throw new UserError(`${name} is not a text: it looks like a binary file. Choose plain text or JSON lines.`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UserError(`${name} is not UTF-8 text. Save it as UTF-8, or choose another file.`);
  }
}

function parse(content, name) {
  const lines = content.split("\n").map((line, at) => [at + 1, line.replace(/\r$/, "")]);
  const filled = lines.filter(([, line]) => /[^ \t\r]/.test(line));
  if (filled.length && LIST.test(filled[0][1]))
    throw new UserError(`${name} is one JSON list; write one JSON object per line.`);
  const json = filled.length > 0 && OBJECT.test(filled[0][1]);
  const records = filled.map(([number, line]) => {
    const where = `${name}, line ${number}`;
    return json ? parseRecord(line, where) : { plain: requireText(line, where), given: [], complete: [] };
  });
  return records.filter((record) => record.plain.trim());
}

/** Refuse what the server would refuse, while the line is still known. */
export function requireText(plain, where) {
  if (!plain.isWellFormed()) throw new UserError(`${where}: there is half a character (a lone surrogate).`);
  const length = new Text(plain).length;
  if (length > limits.characters) {
    throw new UserError(
      `${where}: ${plural(length, "character")} are too many; ` +
        `a text may have ${limits.characters.toLocaleString("en")}.`,
    );
  }
  return plain;
}

function parseRecord(line, where) {
  let record;
  try {
    record = JSON.parse(line);
  } catch (error) {
    throw new UserError(`${where}: this is not JSON (${error.message}). Write one JSON object per line.`);
  }
  if (record === null || typeof record !== "object" || Array.isArray(record))
    throw new UserError(`${where}: expected an object with "text".`);
  const keys = visible(Object.keys(record).slice(0, 8).join(", ")) || "no keys";
  if (typeof record.text !== "string")
    throw new UserError(`${where}: the key "text" is missing or is not a string; found ${keys}.`);
  const plain = requireText(record.text, where);
  const key = SPAN_KEYS.find((one) => Array.isArray(record[one]));
  const given = key ? parseEntities(record[key], new Text(plain), `${where}, ${key}`) : [];
  return { plain, given, complete: parseComplete(record.complete ?? [], where) };
}

function parseComplete(types, where) {
  if (!Array.isArray(types) || !types.every((type) => typeof type === "string" && type))
    throw new UserError(`${where}: “complete” must be a list of types.`);
  return types;
}

function parseEntities(list, text, where) {
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
