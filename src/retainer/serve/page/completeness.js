/** What is complete in the texts of a review: the types of which every entity of a text is marked. */

export class Completeness {
  /** @param {import("./review_queue.js").ReviewQueue} queue which remembers every step for undo */
  constructor(queue) {
    this.queue = queue;
    this.sets = queue.records.map((record) => new Set(record.complete));
  }

  /** The types that are complete in a text. */
  of(text) {
    return this.sets[text];
  }

  /** Say, or take back, that a text has every entity of these types. */
  set(text, types, wanted) {
    this.change([text], (set) => types.forEach((type) => set[wanted ? "add" : "delete"](type)));
  }

  /** Say it of all texts in which everything is decided; return how many there are. */
  setDecided(types) {
    const { items } = this.queue;
    const open = new Set(items.filter((item) => item.state === "open").map((item) => item.text));
    const decided = [...new Set(items.map((item) => item.text))].filter((text) => !open.has(text));
    this.change(decided, (set) => types.forEach((type) => set.add(type)));
    return decided.length;
  }

  change(texts, apply) {
    if (!texts.length) return;
    const before = texts.map((text) => [text, new Set(this.sets[text])]);
    this.queue.record(
      () => before.forEach(([text, types]) => (this.sets[text] = types)),
      () => texts.forEach((text) => apply(this.sets[text])),
    );
  }
}
