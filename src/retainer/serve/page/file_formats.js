/** What a file holds, by its first lines and never by its name, as data/formats/table.py recognises it. */

import { isBlank, isColumns, isTagged } from "./columns.js";
import { isHeader } from "./tables.js";

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

export const TABLE = "a table (CSV)";

/** Name the format of lines: "plain text", "columns", "JSON lines", a table, or one that the page does not read. */
export function recognise(lines, name = "") {
  const filled = firstFilled(lines);
  const [first = ""] = filled;
  if (!isTagged(first) || BRAT.test(first)) {
    const found = FORMATS.find(([pattern]) => pattern.test(first));
    if (found) return found[1];
  }
  if (filled.length && isColumns(filled)) return "columns";
  return isHeader(first, name) ? TABLE : "plain text";
}

function firstFilled(lines) {
  const filled = [];
  for (const line of lines) {
    if (filled.length === RECOGNISED_BY) break;
    if (!isBlank(line)) filled.push(line);
  }
  return filled;
}
