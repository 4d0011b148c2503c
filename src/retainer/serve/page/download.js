/** What a review gives: JSON lines with text and spans, which `retainer check` and `retainer learn` read. */

/**
 * Write the texts in which all is decided, or that had entities already. Left out are texts nobody looked at, and held
 * back are those with something still to decide: a line says that what it does not have is no entity.
 * @param {import("./review_queue.js").Queue} queue
 * @returns {{content: string, texts: number, entities: number, waiting: number}}
 */
export function reviewed(queue) {
  const decided = new Map();
  const open = new Set(queue.items.filter((one) => one.state === "open").map((one) => one.text));
  for (const one of queue.items) {
    if (one.state === "open") continue;
    if (!decided.has(one.text)) decided.set(one.text, []);
    if (one.state === "accepted") decided.get(one.text).push(one);
  }
  let entities = 0;
  const lines = queue.records.flatMap((record, at) => {
    if (open.has(at) || (!decided.has(at) && !record.given.length)) return [];
    const all = [...record.given, ...(decided.get(at) ?? [])].sort((a, b) => a.start - b.start);
    entities += all.length;
    const spans = all.map(({ start, end, type }) => ({ start, end, label: type }));
    return [`${JSON.stringify({ text: record.plain, spans, answer: "accept" })}\n`];
  });
  const waiting = [...decided.keys()].filter((at) => open.has(at)).length;
  return { content: lines.join(""), texts: lines.length, entities, waiting };
}

/** Hand a file over to the browser. */
export function download(content, name) {
  const address = URL.createObjectURL(new Blob([content], { type: "application/jsonl" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
