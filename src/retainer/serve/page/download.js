/** The result of a review: JSON lines with text and spans, which `retainer check` and `retainer learn` read. */

/**
 * Write the texts in which everything is decided, or that had entities already. Texts without any decision are left
 * out, and texts with something still to decide are held back: their line would say that the rest is not an entity.
 * @param {import("./review_queue.js").ReviewQueue} queue
 * @returns {{content: string, texts: number, entities: number, heldBack: number}}
 */
export function reviewedLines(queue) {
  const decided = new Map();
  const open = new Set(queue.items.filter((item) => item.state === "open").map((item) => item.text));
  for (const item of queue.items) {
    if (item.state === "open") continue;
    if (!decided.has(item.text)) decided.set(item.text, []);
    if (item.state === "accepted") decided.get(item.text).push(item);
  }
  let entities = 0;
  const lines = queue.records.flatMap((record, at) => {
    if (open.has(at) || (!decided.has(at) && !record.given.length)) return [];
    const all = [...record.given, ...(decided.get(at) ?? [])].sort((a, b) => a.start - b.start);
    entities += all.length;
    const spans = all.map(({ start, end, type }) => ({ start, end, label: type }));
    return [`${JSON.stringify({ text: record.plain, spans, answer: "accept" })}\n`];
  });
  const heldBack = [...decided.keys()].filter((at) => open.has(at)).length;
  return { content: lines.join(""), texts: lines.length, entities, heldBack };
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
