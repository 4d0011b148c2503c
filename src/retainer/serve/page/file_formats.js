/** What a file holds, by its first lines and never by its name, as data/formats/table.py recognises it. */

import { isBlank, isColumns, isTagged } from "./columns.js";

const RECOGNISED_BY = 100;
/** Lines that are not blank, which decide between columns and plain text. */

const BRAT = /^T[^ \t]*\t[^ \t]+ [0-9]{1,15} [0-9]{1,15}(?:;[0-9]{1,15} [0-9]{1,15})* *\t/;
const I2B2 = /^(?:<\?xml[ \t][^>]*\?>[ \t]*(?:<.*)?|<deIdi2b2>[ \t]*(?:<.*)?|<!DOCTYPE[ \t]+deIdi2b2\b.*)$/s;
const FORMATS = [
  [/^[ \t]*\[\s*(?:\{\s*(?:"|$)|\]?\s*$)/, "tasks of Label Studio"],
  [/^[ \t]*\{\s*(?:"[^"]*"\s*:|\}?\s*$)/, "JSON lines"],
  [I2B2, "XML"],
  [/^#begin document \([^\t]*$/, "columns of CoNLL-2012"],
  [/^<DOC(?:[ \t]+DOCNO="[^"]*")?[ \t]*>[ \t]*$/, "a .name file of OntoNotes"],
  [BRAT, "annotations of brat"],
];
/** How the first line of a format begins, in the order in which they are tried. */

const TABLE = "a table (CSV)";
const TEXTS = ["text", "sentence", "content", "utterance", "raw_text", "texts", "tokens", "words"];
const WORDS = ["word", "token", "form"];
const TAGS = /^(?:(?:ner|iob)?_?tags?|labels?|entity|ner|bio|iob)$/;
const NAME = /^(?:[\p{L}\p{N}_][\p{L}\p{N}_ .:#()/-]{0,60})?$/u;
/** What columns of a table are called, as data/formats/columns.py has it. */

/** Name the format of lines: "plain text", "columns", "JSON lines", or one that the page does not read. */
export function recognise(lines) {
  const filled = firstFilled(lines);
  const [first = ""] = filled;
  if (!isTagged(first) || BRAT.test(first)) {
    const found = FORMATS.find(([pattern]) => pattern.test(first));
    if (found) return found[1];
  }
  if (filled.length && isColumns(filled)) return "columns";
  return isHeader(first) ? TABLE : "plain text";
}

/** Whether a line is the header of a table: short names, and among them that of texts, or those of words and tags. */
function isHeader(line) {
  const [cells] = [...",;\t"].map((separator) => line.split(separator)).sort((a, b) => b.length - a.length);
  const names = cells.map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
  if (names.length < 2 || /[,;] /.test(line) || !names.every((name) => NAME.test(name))) return false;
  const known = names.map((name) => name.toLowerCase().replace(/[\s_.:-]+/g, "_"));
  const hasWords = known.some((name) => WORDS.includes(name)) && known.some((name) => TAGS.test(name));
  return hasWords || known.some((name) => TEXTS.includes(name));
}

function firstFilled(lines) {
  const filled = [];
  for (const line of lines) {
    if (filled.length === RECOGNISED_BY) break;
    if (!isBlank(line)) filled.push(line);
  }
  return filled;
}
