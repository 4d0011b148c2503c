/** The result of a review: JSON lines with text, spans and what is complete, which `retainer` reads. */

import { plural } from "./dom.js";

/**
 * Write the texts in which everything is decided, that had entities already, or in which something is complete. Texts
 * without any decision are left out, and texts with something still to decide are held back. `idle` counts the
 * rejections that teach nothing, because their texts leave the type open; `types` are those with entities.
 * @param {import("./review_queue.js").ReviewQueue} queue
 */
export function reviewedLines(queue) {
  const decided = queue.records.map(() => []);
  for (const item of queue.items) if (item.state !== "open") decided[item.text].push(item);
  const open = queue.openTexts;
  const result = { lines: [], entities: 0, heldBack: 0, idle: 0, types: new Set(), complete: new Set() };
  queue.records.forEach((record, at) => {
    const complete = [...queue.completeness.of(at)];
    if (!decided[at].length && !record.given.length && !complete.length) return;
    if (open.has(at)) result.heldBack += decided[at].length || complete.length ? 1 : 0;
    else add(result, record, decided[at], complete);
  });
  return { ...result, content: result.lines.join(""), texts: result.lines.length };
}

function add(result, record, decided, complete) {
  const accepted = decided.filter((item) => item.state === "accepted");
  const all = [...record.given, ...accepted].sort((a, b) => a.start - b.start);
  const spans = all.map(({ start, end, type }) => ({ start, end, label: type }));
  result.lines.push(`${JSON.stringify({ text: record.plain, spans, complete, answer: "accept" })}\n`);
  result.entities += all.length;
  result.idle += decided.filter(
    (item) => item.state === "rejected" && item.proposed && !complete.includes(item.proposed.type),
  ).length;
  for (const { type } of all) result.types.add(type);
  for (const type of complete) result.complete.add(type);
}

/** The types with entities in what can be downloaded now, for which none of its texts is complete. */
export function incompleteTypes({ items, records, openTexts, completeness }) {
  const accepted = items.filter((item) => item.state === "accepted" && !openTexts.has(item.text));
  const closed = [...records.keys()].filter((at) => !openTexts.has(at));
  const all = [...closed.flatMap((at) => records[at].given), ...accepted].map((one) => one.type);
  const complete = new Set(closed.flatMap((at) => [...completeness.of(at)]));
  return [...new Set(all)].filter((type) => !complete.has(type));
}

/** Say what is in the download, what is not, and what of it teaches nothing. */
export function reviewedText({ texts, entities, heldBack, idle }) {
  const held = heldBack ? ` ${plural(heldBack, "text")} with something still to decide held back.` : "";
  if (!texts) return `There is nothing to download yet: decide about all entities of a text first.${held}`;
  const open = idle ? ` ${plural(idle, "rejection")} will teach nothing: the texts are not complete for the type.` : "";
  return `${plural(texts, "text")} with ${plural(entities, "entity", "entities")} downloaded.${held}${open}`;
}

/** Return the name of the n-th download: one that every browser keeps and no shell takes for an option. */
export function reviewedName(name, number) {
  const again = number > 1 ? `-${number}` : "";
  const stem = name.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}._-]/gu, "_");
  return `${stem.replace(/^[.-]/, "_") || "texts"}.reviewed${again}.jsonl`;
}

/** Let the browser save a file. */
export function saveFile(content, name) {
  const url = URL.createObjectURL(new Blob([content], { type: "application/jsonl" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
