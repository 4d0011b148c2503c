/** What is complete in the texts of a review: the types of which every entity of a text is marked. */

export class Completeness {
  /**
   * @param {import("./review_queue.js").ReviewQueue} queue which remembers every step for undo
   * @param {() => string[]} types those that a person can choose from now; some may be added later
   */
  constructor(queue, types) {
    this.queue = queue;
    this.types = types;
    this.sets = queue.records.map((record) => new Set(record.complete));
    this.seen = new Map();
    this.first = types();
    this.looked = new Map();
  }

  /** Remember which types there are while a person looks at a text. */
  look(text) {
    this.looked.set(text, this.types());
  }

  /** The types that are complete in a text. */
  of(text) {
    return this.sets[text];
  }

  /** Remember which types there are while some texts are decided; return what takes it back. */
  see(texts) {
    const before = texts.map((text) => [text, this.seen.get(text)]);
    for (const text of texts) this.seen.set(text, this.types());
    return () => before.forEach(([text, types]) => this.remember(text, types));
  }

  remember(text, types) {
    if (types) this.seen.set(text, types);
    else this.seen.delete(text);
  }

  /** Say, or take back, that a text has every entity of these types. */
  set(text, types, wanted) {
    const first = this.seen.has(text) ? [] : [text];
    this.change([text], (set) => types.forEach((type) => set[wanted ? "add" : "delete"](type)), first);
  }

  /**
   * Say of all texts in which nothing is left to decide that they are complete for the types that there were then: of
   * a type that came later nobody was asked. Where nothing was proposed or marked, that is when the text was last in
   * view, or else the beginning. Return how many texts there are, and in how many of them there was nothing to decide.
   */
  setDecided() {
    const { items, openTexts, texts } = this.queue;
    const decided = [...texts.keys()].filter((text) => !openTexts.has(text) && !texts[text].isBlank);
    const then = (text) => this.seen.get(text) ?? this.looked.get(text) ?? this.first;
    this.change(decided, (set, text) => {
      this.remember(text, then(text));
      for (const type of this.types()) if (then(text).includes(type)) set.add(type);
    });
    const some = new Set(items.map((item) => item.text));
    return { all: decided.length, empty: decided.filter((text) => !some.has(text)).length };
  }

  /** The decided texts that are open for types which were added afterwards, in order, each with these types. */
  earlier() {
    const { openTexts } = this.queue;
    const now = this.types();
    const later = ([text, seen]) => now.filter((type) => !seen.includes(type) && !this.sets[text].has(type));
    return [...this.seen]
      .filter(([text, seen]) => seen !== now && !openTexts.has(text))
      .map((one) => ({ text: one[0], types: later(one) }))
      .filter(({ types }) => types.length)
      .sort((a, b) => a.text - b.text);
  }

  change(texts, apply, seen = []) {
    if (!texts.length) return;
    const before = texts.map((text) => [text, new Set(this.sets[text]), this.seen.get(text)]);
    const restore = ([text, types, then]) => {
      this.sets[text] = types;
      this.remember(text, then);
    };
    this.queue.record(
      seen,
      () => before.forEach(restore),
      () => texts.forEach((text) => apply(this.sets[text], text)),
    );
  }
}
