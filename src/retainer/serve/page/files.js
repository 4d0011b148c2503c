/** Reading a file a person brings: a text to a line, or JSON lines with "text" (and perhaps entities). */

import { Text } from "./codepoints.js";
import { amount, spelled } from "./dom.js";
import { limits } from "./server.js";
import { Trouble } from "./notices.js";

const MOST_BYTES = 8 * 2 ** 20;
const MOST_TEXTS = 5000;
const MORE = "For more there is “retainer predict --input”.";
const OBJECT = /^[ \t]*\{\s*("[^"]*"\s*:|\}?\s*$)/;
const LIST = /^[ \t]*\[\s*(\{|$)/;
const SPANS = ["spans", "label", "labels", "entities"];

/**
 * Read a file. What comes back is a list of {plain, given}: a text, and the entities the file already has in it.
 * @param {File} file
 */
export async function readFile(file) {
  const called = spelled(file.name);
  if (file.size > MOST_BYTES) {
    throw new Trouble(
      `${called} has ${Math.ceil(file.size / 2 ** 20)} MB; the page takes ${MOST_BYTES / 2 ** 20}. ${MORE}`,
    );
  }
  const records = parse(decode(new Uint8Array(await file.arrayBuffer()), called), called);
  if (!records.length) throw new Trouble(`${called} holds no text.`);
  if (records.length > MOST_TEXTS) {
    throw new Trouble(`${called} holds ${amount(records.length, "text")}; the page takes ${MOST_TEXTS}. ${MORE}`);
  }
  return records;
}

function decode(bytes, called) {
  if (bytes.includes(0))
    throw new Trouble(`${called} is no text: it looks like a binary file. Choose plain text or JSON lines.`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Trouble(`${called} is not UTF-8 text. Save it as UTF-8, or choose another file.`);
  }
}

function parse(content, called) {
  const lines = content.split("\n").map((line, at) => [at + 1, line.replace(/\r$/, "")]);
  const full = lines.filter(([, line]) => /[^ \t\r]/.test(line));
  if (full.length && LIST.test(full[0][1]))
    throw new Trouble(`${called} is one JSON list; write one JSON object per line.`);
  const json = full.length > 0 && OBJECT.test(full[0][1]);
  const records = full.map(([number, line]) => {
    const where = `${called}, line ${number}`;
    return json ? record(line, where) : { plain: required(line, where), given: [] };
  });
  return records.filter((one) => one.plain.trim());
}

/** Refuse what the server would refuse, while the line is still known. */
export function required(plain, where) {
  if (!plain.isWellFormed()) throw new Trouble(`${where}: there is half a character (a lone surrogate).`);
  const length = new Text(plain).length;
  if (length > limits.characters) {
    throw new Trouble(
      `${where}: ${amount(length, "character")} are too many; one may have ${limits.characters.toLocaleString("en")}.`,
    );
  }
  return plain;
}

function record(line, where) {
  let found;
  try {
    found = JSON.parse(line);
  } catch (error) {
    throw new Trouble(`${where}: this is not JSON (${error.message}). Write one JSON object per line.`);
  }
  if (found === null || typeof found !== "object" || Array.isArray(found))
    throw new Trouble(`${where}: an object must stand here, with "text" in it.`);
  const keys = spelled(Object.keys(found).slice(0, 8).join(", ")) || "no keys";
  if (typeof found.text !== "string")
    throw new Trouble(`${where}: the key "text" is missing, or is no string; found ${keys}.`);
  const plain = required(found.text, where);
  const key = SPANS.find((one) => Array.isArray(found[one]));
  return { plain, given: key ? entities(found[key], new Text(plain), `${where}, ${key}`) : [] };
}

function entities(list, text, where) {
  const made = list.map((one, at) => {
    const parts = Array.isArray(one) ? one : [one?.start ?? one?.start_offset, one?.end ?? one?.end_offset, one?.label];
    const [start, end, type] = parts;
    const right = Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start < end && end <= text.length;
    if (!right || typeof type !== "string" || !type)
      throw new Trouble(`${where}: entity ${at + 1} has no place in the text, or no type.`);
    return { start, end, type };
  });
  made.sort((a, b) => a.start - b.start);
  for (let at = 1; at < made.length; at += 1) {
    if (made[at].start < made[at - 1].end)
      throw new Trouble(`${where}: two entities overlap, at character ${made[at].start}.`);
  }
  return made;
}
