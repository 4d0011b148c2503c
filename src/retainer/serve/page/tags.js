/** The tags of words, such as B-city, and the entities that they stand for, as data/tags.py reads them. */

import { Text } from "./codepoints.js";

const TAG = /^([BIESLU])-(.+)$/s;
const KINDS = { B: "B", I: "I", E: "E", L: "E", S: "S", U: "S" };

/** Return kind (O, B, I, E or S) and type of a tag; null if it is none. */
export function splitTag(tag) {
  if (tag === "O") return ["O", ""];
  const match = TAG.exec(tag);
  return match && [KINDS[match[1]], match[2]];
}

/** Return the entities of tags, in words and whatever the scheme: an I- without a B- begins one. */
function spansOf(tags) {
  const spans = [];
  let [start, kind, previous] = [0, "O", ""];
  [...tags, "O"].forEach((tag, at) => {
    const [now, type] = splitTag(tag);
    const begins = "BS".includes(now) || type !== previous || "ES".includes(kind);
    if (previous && (begins || now === "O")) spans.push([start, at, previous]);
    if (now !== "O" && begins) start = at;
    [kind, previous] = [now, type];
  });
  return spans;
}

/** Return the text that words make, with a space between them, and the entities of their tags in it. */
export function taggedText(words, tags) {
  const edges = [];
  let at = 0;
  for (const word of words) {
    const { length } = new Text(word);
    edges.push([at, at + length]);
    at += length + 1;
  }
  const given = spansOf(tags).map(([start, end, type]) => ({ start: edges[start][0], end: edges[end - 1][1], type }));
  return { plain: words.join(" "), given };
}
