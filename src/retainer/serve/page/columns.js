/** CoNLL columns: a word and its tag on every line, a blank line after every sentence; as data/formats/conll.py. */

import { plural, visible } from "./dom.js";
import { UserError } from "./errors.js";
import { splitTag, taggedText } from "./tags.js";

const TAGGED = /[^\t]\t(?:O|[BIESLU]-[^\t"{}[\]<>]+)$/;
const DOCSTART = /^-DOCSTART-(?![^ \t])/;
const WORD_NAMES = ["word", "words", "token", "tokens", "form", "text"];
const TAG_NAMES = "tag tags ner ner_tag ner_tags ner-tag nertag label labels entity bio iob".split(" ");

/** Return whether a line holds nothing but spaces, tabs and carriage returns. */
export function isBlank(line) {
  return !/[^ \t\r]/.test(line);
}

/** Return whether a line ends in a tab and a tag: then its word may look like anything. */
export function isTagged(line) {
  return TAGGED.test(stripped(line, " ", false));
}

/** Take these characters from the edges; a pattern would need minutes for a long line of spaces. */
function stripped(line, characters, both = true) {
  let [start, end] = [0, line.length];
  while (both && start < end && characters.includes(line[start])) start += 1;
  while (end > start && characters.includes(line[end - 1])) end -= 1;
  return line.slice(start, end);
}

/** Return whether most of some lines are rows; one alone proves something only with a tab: a text may end in B-52. */
export function isColumns(lines) {
  const rows = lines.filter(isRow).length;
  return 2 * rows > lines.length && (rows > 1 || isTagged(lines[0]));
}

function isRow(line) {
  const cells = stripped(line, " ").split(separatorOf(line));
  return splitTag(cells.at(-1)) ? cells.length > 1 : DOCSTART.test(line);
}

function separatorOf(line) {
  return line.includes("\t") ? "\t" : / +/;
}

/** Make a text of every sentence, with its entities; `name` is the file's, for errors. */
export function readColumns(lines, name) {
  const records = [];
  let [words, tags, first, width, separator] = [[], [], 0, 0, null];
  const header = headerOf(lines);
  const end = () => {
    if (words.length) records.push({ ...taggedText(words, tags), complete: [], where: `${name}, line ${first}` });
    [words, tags] = [[], []];
  };
  lines.forEach((line, at) => {
    if (isBlank(line) || at === header || DOCSTART.test(line)) return end();
    separator ??= separatorOf(line);
    const cells = stripped(line, " \r", false).split(separator);
    requireCells(cells, width, `${name}, line ${at + 1}`);
    if (!words.length) first = at + 1;
    width = cells.length;
    words.push(cells[0]);
    tags.push(cells.at(-1));
  });
  end();
  return records;
}

/** The index of a first line that names the columns; -1 if there is none. */
function headerOf(lines) {
  const at = lines.findIndex((line) => !isBlank(line));
  const line = lines[at] ?? "";
  const cells = stripped(line, " #\r").toLowerCase().split(separatorOf(line));
  return cells.length > 1 && WORD_NAMES.includes(cells[0]) && TAG_NAMES.includes(cells.at(-1)) ? at : -1;
}

function requireCells(cells, width, where) {
  const found = `${where}: found ${plural(cells.length, "column")}`;
  if (width && cells.length !== width)
    throw new UserError(`${found} where the lines before have ${width}; give every line the same columns.`);
  if (cells.length < 2)
    throw new UserError(`${found}; a line needs a word and, separated by a tab or a space, its tag.`);
  if (!cells[0]) throw new UserError(`${where}: the first column is empty; it must hold the word.`);
  if (cells.some((cell) => /[\t\r]/.test(cell)))
    throw new UserError(`${where}: a column contains a tab or a line break; replace it.`);
  if (!splitTag(cells.at(-1)))
    throw new UserError(`${where}: “${visible(cells.at(-1).slice(0, 80))}” is not a tag such as O, B-city or I-city.`);
}
