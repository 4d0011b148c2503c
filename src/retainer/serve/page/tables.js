/** Reads the texts of a table (CSV, TSV) by the rules of `retainer predict --input`: a header, then a text per row. */

import { isBlank } from "./columns.js";
import { UserError } from "./errors.js";
import { readRecord } from "./json_lines.js";

const TEXTS = ["text", "sentence", "content", "utterance", "raw_text", "texts"];
const ENTITIES = ["entities", "spans", "annotations", "annotation", "entity", "labels", "label", "ner"];
const WORDS = ["word", "token", "form", "tokens", "words"];
const TAGS = /^(?:(?:ner|iob)_?tags?|tags?|word_labels|bio|iob)$/;
const NAME = /^(?:[\p{L}\p{N}_][\p{L}\p{N}_ .:#()/-]{0,60})?$/u;
/** What columns of a table are called, as data/formats/columns.py has it. */

const SEPARATORS = { ",": "comma", ";": "semicolon", "\t": "tab" };
const QUOTE = "write a quote inside a cell twice.";

/** Whether a line is the header of a table; that of a single column counts where the file is called a table. */
export function isHeader(line, name) {
  const names = headerNames(line, separatorOf(line));
  const known = names.map(plainName);
  if (names.length < 2) return /\.[ct]sv$/i.test(name) && TEXTS.includes(known[0]);
  if (/[,;] /.test(line) || !names.every((one) => NAME.test(one))) return false;
  const hasTags = known.some((one) => TAGS.test(one) || ENTITIES.includes(one));
  return known.some((one) => TEXTS.includes(one)) || (known.some((one) => WORDS.includes(one)) && hasTags);
}

/** Refuse a file that is called a table and has no column of texts: its header and numbers are not texts. */
export function refuseNameless(lines, name) {
  const header = lines.find((line) => !isBlank(line));
  if (header === undefined || !/\.[ct]sv$/i.test(name)) return;
  const found = headerNames(header, separatorOf(header)).slice(0, 8).join(", ");
  throw new UserError(`${name} is a table without a column of texts: found ${found}. Call one of them “text”.`);
}

/**
 * Read the texts of a table and, if `annotated`, their entities, which must be written as JSON.
 * Returns undefined for a table without texts (of words and tags), which the page does not read.
 */
export function readTable(content, name, annotated) {
  const header = content.split("\n").find((line) => !isBlank(line));
  const separator = separatorOf(header);
  const all = rowsOf(content, separator, name);
  const begin = all.findIndex(({ cells }) => cells.some((cell) => !isBlank(cell)));
  const names = all[begin].cells.map((cell) => plainName(cell.trim()));
  const rest = all.slice(begin + 1).filter(({ cells }) => cells.some(Boolean));
  const columns = { text: placeOf(names, TEXTS), complete: names.indexOf("complete") };
  columns.entities = placeOf(names, ENTITIES, columns.text);
  const isWords = names.some((one) => WORDS.includes(one)) && names.some((one) => TAGS.test(one) || one === "label");
  if (columns.text < 0 || isWords) return undefined;
  if (annotated && columns.entities < 0 && names.some((one) => TAGS.test(one))) return undefined;
  return rest.map(({ cells, line }) => {
    const where = `${name}, line ${line}`;
    requireWidth(cells, names.length, separator, where);
    return { ...recordOf(cells, columns, where, annotated), where };
  });
}

function recordOf(cells, { text, entities, complete }, where, annotated) {
  const plain = cells[text];
  if (!annotated || (entities < 0 && complete < 0)) return { plain, given: [], complete: [] };
  const marks = entities < 0 ? [] : listOf(cells[entities], where);
  const key = marks.every(Array.isArray) ? "label" : "spans";
  const said = complete < 0 || !cells[complete] ? {} : { complete: listOf(cells[complete], where) };
  return readRecord(JSON.stringify({ text: plain, [key]: marks, ...said }), where, true);
}

function listOf(cell, where) {
  try {
    const found = JSON.parse(cell.trim() || "[]");
    if (Array.isArray(found)) return found;
  } catch {
    // said below
  }
  throw new UserError(
    `${where}: the entities are not a list in JSON. “retainer convert FILE OUT.jsonl --to prodigy” reads other lists.`,
  );
}

function requireWidth(cells, width, separator, where) {
  if (cells.length !== width)
    throw new UserError(
      `${where}: found ${cells.length} cells where the header names ${width} columns; ` +
        `quote cells that hold a ${SEPARATORS[separator]} or a line break.`,
    );
}

/** Return all rows with the lines they begin on; a cell in quotes may go over several lines. */
function rowsOf(content, separator, name) {
  const rows = [];
  const bare = new RegExp(`[^${separator}\\n]*`, "y");
  let [at, line] = [0, 1];
  while (at < content.length) {
    const row = { cells: [], line };
    for (let more = true; more; ) {
      const cell = content[at] === '"' ? quotedCell(content, at, `${name}, line ${line}`) : bareCell(content, at, bare);
      row.cells.push(cell.value);
      line += cell.breaks;
      at = cell.end;
      more = content[at] === separator;
      if (more) at += 1;
    }
    const end = /^(?:\r?\n|\r?$)/.exec(content.slice(at, at + 2));
    if (!end) throw new UserError(`${name}, line ${line}: text follows a closing quote; ${QUOTE}`);
    at += end[0].length;
    line += 1;
    rows.push(row);
  }
  return rows;
}

function bareCell(content, at, bare) {
  bare.lastIndex = at;
  const [found] = bare.exec(content);
  return { value: found.replace(/\r$/, ""), end: at + found.length, breaks: 0 };
}

function quotedCell(content, at, where) {
  let end = content.indexOf('"', at + 1);
  while (end >= 0 && content[end + 1] === '"') end = content.indexOf('"', end + 2);
  if (end < 0) throw new UserError(`${where}: a quote that opens here is never closed; ${QUOTE}`);
  const value = content.slice(at + 1, end).replaceAll('""', '"');
  return { value, end: end + 1, breaks: value.split("\n").length - 1 };
}

/** Return what separates most cells of a header: the tab first, as the command line has it. */
function separatorOf(line) {
  const counts = ["\t", ",", ";"].map((one) => [one, headerNames(line, one).length]);
  return counts.reduce((best, next) => (next[1] > best[1] ? next : best))[0];
}

function headerNames(line, separator) {
  return line.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/s, "$1"));
}

function placeOf(names, usual, taken = -1) {
  return usual.map((name) => names.findIndex((one, at) => one === name && at !== taken)).find((at) => at >= 0) ?? -1;
}

/** Return a name without what people write differently: Sentence # is sentence_id. */
function plainName(name) {
  return name.toLowerCase().replaceAll("#", " id ").replace(/[\s_.:-]+/g, "_").replace(/^_+|_+$/g, "");
}
