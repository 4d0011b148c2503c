/** One text on the workbench: what is saved about it, what the version in use proposes, and what was done since. */

import { Text } from "./codepoints.js";
import { UserError } from "./errors.js";
import { overlap } from "./proposals.js";
import { ReviewQueue } from "./review_queue.js";

const rejections = new Map();
/** What was rejected in texts that are not decided, by their numbers: with the decision it is saved as an absence. */

export class Sheet extends ReviewQueue {
  /**
   * @param {object} item the text as the server knows it
   * @param {() => string[]} types those of the project
   * @param {Set<string>} unticked types that the person does not take for complete in a new text
   */
  constructor(item, types, unticked) {
    const { annotation, text, found } = item;
    const usual = annotation.decided ? [] : types().filter((type) => !unticked.has(type));
    const complete = [...new Set([...annotation.complete, ...usual])];
    const open = found.filter((one) => isOpen(one, annotation));
    const gone = rejections.get(item.id) ?? new Set();
    const proposals = open.map((one) => ({ ...proposed(one), state: gone.has(keyOf(one)) ? "rejected" : "open" }));
    const items = [...annotation.entities.map(saved), ...proposals].sort((a, b) => a.start - b.start);
    super([{ plain: text, given: [], complete }], [new Text(text)], items, types);
    if (item.words) this.words.set(0, item.words);
    this.stored = item;
    this.undone = [];
    this.said = new Set(annotation.complete);
    this.wanted = annotation.decided;
    if (this.text < 0) this.text = 0;
    this.showText(0);
  }

  get id() {
    return this.stored.id;
  }

  /** Remember what was rejected for when the text is looked at again. */
  remember() {
    const gone = this.items.filter((item) => item.state === "rejected" && item.proposed);
    rejections.set(this.id, new Set(gone.map((item) => keyOf(item.proposed))));
  }

  /** Whether something was done that is not saved. */
  get isChanged() {
    return this.history.length > 0;
  }

  /** The proposals that are still to decide. */
  get open() {
    return this.items.filter((item) => item.state === "open");
  }

  /** Whether the text is decided, if that was wanted last and can be. */
  get decides() {
    return this.wanted && !this.open.length;
  }

  record(decided, restore, apply) {
    super.record(decided, restore, apply);
    Object.assign(this.history.at(-1), { decided, apply });
    this.undone = [];
  }

  undo() {
    const last = this.history.at(-1);
    super.undo();
    this.undone.push(last);
  }

  redo() {
    const { undone } = this;
    const { decided, restore, apply } = undone.pop();
    this.record(decided, restore, apply);
    this.undone = undone;
  }

  /** Refuse, before a type is made for it, what cannot get one: these words or, without any, the current entity. */
  requireTypable(span) {
    if (span) this.requireRoom({ text: this.text, ...span }, null);
    else this.current();
  }

  acceptRest() {
    this.change(this.open, (item) => {
      if (!this.overlapping(item, item)) item.state = "accepted";
      else item.state = "rejected";
    });
  }

  /** Say, or take back, that every entity of some types is marked. */
  say(types, wanted) {
    for (const type of types) this.said[wanted ? "add" : "delete"](type);
    this.completeness.set(0, types, wanted);
  }

  /**
   * Return what is to be saved; a decision needs one about every proposal. What is ticked holds with the decision;
   * until then, only what the person has ticked: who leaves in the middle has not said that nothing else is there.
   */
  annotation(decided) {
    const count = this.open.length;
    if (decided && count)
      throw new UserError(
        `${count === 1 ? "A proposal is" : `${count} proposals are`} open: accept or reject first, or accept the rest.`,
      );
    const entities = this.items
      .filter((item) => item.state === "accepted")
      .map(({ start, end, type }) => ({ start, end, type }))
      .sort((a, b) => a.start - b.start);
    const complete = [...this.completeness.of(0)].filter((type) => decided || this.said.has(type));
    return { entities, decided, complete };
  }
}

/** A proposal is worth a look where nothing is marked, unless it was decided that nothing else is there. */
function isOpen(found, { entities, decided, complete }) {
  return !(decided && complete.includes(found.type)) && !entities.some((one) => overlap(one, found));
}

function keyOf({ start, end, type }) {
  return JSON.stringify([start, end, type]);
}

function saved({ start, end, type }) {
  const span = { start, end, type };
  return { text: 0, ...span, score: null, reason: "", other: null, state: "accepted", proposed: span };
}

function proposed({ start, end, type, score }) {
  const span = { start, end, type };
  return { text: 0, ...span, score, reason: "", other: null, state: "open", proposed: span };
}
