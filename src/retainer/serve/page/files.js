/** Reads a file of texts by the rules of `retainer predict --input`: lines, JSON lines, CoNLL columns or a table. */

import { Text } from "./codepoints.js";
import { isBlank, readColumns } from "./columns.js";
import { plural, visible } from "./dom.js";
import { UserError } from "./errors.js";
import { recognise, TABLE } from "./file_formats.js";
import { readRecord } from "./json_lines.js";
import { limits } from "./server.js";
import { readTable, refuseNameless } from "./tables.js";

const MAX_BYTES = 8 * 2 ** 20;
const MAX_TEXTS = 5000;
const LONE_SURROGATE = /\p{Surrogate}/u;
const LARGER = "For larger files use “retainer predict --input”.";
const CHOOSE = "Choose plain text, JSON lines, CoNLL columns or a table (CSV).";
const COMPRESSED = [
  ["gzip", [0x1f, 0x8b]],
  ["bzip2", [0x42, 0x5a, 0x68]],
  ["xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
];
/** How compressed files begin. */

const CONVERT = "“retainer convert FILE OUT.jsonl --to prodigy” makes JSON lines of it.";

/**
 * Read a file. Returns a list of {plain, given, complete}: a text and, if `annotated`, the entities that the file
 * already has in it and the types of which it has all. An empty line is an empty text, so the n-th text of a file of
 * lines is that of its n-th line.
 * @param {File} file
 */
export async function readFile(file, annotated = false) {
  const name = visible(file.name);
  if (file.size > MAX_BYTES) {
    const size = Math.ceil(file.size / 2 ** 20);
    throw new UserError(`${name} has ${size} MB; the page takes at most ${MAX_BYTES / 2 ** 20}. ${LARGER}`);
  }
  const content = decode(new Uint8Array(await file.arrayBuffer()), name);
  const records = parse(content, name, annotated);
  if (!records.some((record) => !new Text(record.plain).isBlank)) throw new UserError(`${name} holds no text.`);
  requireCount(records.length, name);
  for (const { plain, where } of records) requireText(plain, where);
  return records;
}

/** Read a file in place of the one that is shown, if there is one: a refusal says that it still is. */
export async function readInstead(file, shown, annotated = false) {
  try {
    return await readFile(file, annotated);
  } catch (error) {
    if (shown === undefined || !(error instanceof UserError)) throw error;
    throw new UserError(`${error.message} ${visible(shown)} is still shown.`);
  }
}

/** Refuse more texts than the page takes. */
export function requireCount(count, where) {
  if (count > MAX_TEXTS)
    throw new UserError(`${where} holds ${plural(count, "text")}; the page takes at most ${MAX_TEXTS}. ${LARGER}`);
}

/** Refuse what the server would refuse, while the line is still known. */
export function requireText(plain, where) {
  if (LONE_SURROGATE.test(plain)) throw new UserError(`${where}: there is half a character (a lone surrogate).`);
  const length = new Text(plain).length;
  if (length > limits.characters) {
    throw new UserError(
      `${where}: ${plural(length, "character")} are too many; ` +
        `a text may have ${limits.characters.toLocaleString("en")}.`,
    );
  }
  return plain;
}

/** Return how many texts there are, and how many of them are empty. */
export function countTexts(texts) {
  const empty = texts.filter((text) => text.isBlank).length;
  return `${plural(texts.length, "text")}${empty ? `, ${empty} of them empty` : ""}`;
}

function decode(bytes, name) {
  if (bytes.includes(0)) throw notText(bytes, name, `is not a text: it looks like a binary file. ${CHOOSE}`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw notText(bytes, name, "is not UTF-8 text. Save it as UTF-8, or choose another file.");
  }
}

/** Return what to say of bytes that are no text, unless they are a compressed one. */
function notText(bytes, name, otherwise) {
  const packed = COMPRESSED.find(([, begin]) => begin.every((byte, at) => bytes[at] === byte));
  const unpack = packed && `is compressed (${packed[0]}): unpack it, and choose what was in it.`;
  return new UserError(`${name} ${unpack ?? otherwise}`);
}

/** Only a line feed ends a line, with or without a carriage return; the end of the last line begins no further one. */
function linesOf(content) {
  const lines = content.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => line.replace(/\r$/, ""));
}

function parse(content, name, annotated) {
  const lines = linesOf(content);
  const format = recognise(lines, name);
  if (format === "columns") return readColumns(lines, name);
  const table = format === TABLE ? readTable(content, name, annotated) : undefined;
  if (table) return table;
  if (format === "plain text") refuseNameless(lines, name);
  if (format !== "plain text" && format !== "JSON lines")
    throw new UserError(`${name} holds ${format}, which the page does not read. ${CONVERT}`);
  return lines.map((line, at) => {
    const where = `${name}, line ${at + 1}`;
    const isRecord = format === "JSON lines" && !isBlank(line);
    return { ...(isRecord ? readRecord(line, where, annotated) : { plain: line, given: [], complete: [] }), where };
  });
}
