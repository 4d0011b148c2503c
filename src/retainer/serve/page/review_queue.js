/** The decisions of a review, item by item; every step can be undone. Nothing here draws. */

import { Completeness } from "./completeness.js";
import { visible } from "./dom.js";
import { UserError } from "./errors.js";
import { covered, marked, overlap } from "./proposals.js";

export class ReviewQueue {
  /**
   * @param {{plain: string, given: object[], complete: string[]}[]} records
   * @param {object[]} items most doubtful first
   * @param {() => string[]} types those that a person can choose from now
   */
  constructor(records, texts, items, types) {
    this.records = records;
    this.texts = texts;
    this.items = items;
    this.completeness = new Completeness(this, types);
    this.history = [];
    this.unsaved = false;
    this.words = new Map();
    this.text = texts.findIndex((text) => !text.isBlank);
    this.at = -1;
    if (items.length) this.goTo(0);
  }

  /** The current item; there is none in a text without any. */
  get item() {
    return this.items[this.at];
  }

  /** The texts in which something is still to decide. */
  get openTexts() {
    return new Set(this.items.filter((item) => item.state === "open").map((item) => item.text));
  }

  /** Make a change that `restore` can take back; `decided` are the texts about which a person decides by it. */
  record(decided, restore, apply) {
    const { at, text } = this;
    this.history.push({ restore, unsee: this.completeness.see(decided), at, text });
    apply();
    this.unsaved = true;
  }

  /** Remember some items for undo, then change them. */
  change(items, apply) {
    if (!items.length) return;
    const before = items.map((item) => [item, { ...item }]);
    this.record(
      items.map((item) => item.text),
      () => before.forEach(([item, copy]) => Object.assign(item, copy)),
      () => items.forEach(apply),
    );
  }

  /** Accept the current item; open ones that it leaves no room for are rejected with it. */
  accept() {
    const item = this.current();
    this.requireRoom(item);
    const gone = covered(this.items, item);
    this.change([item, ...gone], (one) => (one.state = one === item ? "accepted" : "rejected"));
    this.goToOpen();
  }

  reject() {
    this.change([this.current()], (item) => (item.state = "rejected"));
    this.goToOpen();
  }

  retype(type) {
    this.change([this.current()], (item) => (item.type = type));
  }

  /** Mark an entity that no version found; it becomes the current item, behind the one before. */
  mark({ start, end }, type) {
    const item = marked(this.text, { start, end, type });
    this.requireRoom(item, null);
    const at = this.at + 1;
    const gone = covered(this.items, item);
    const put = (items, left) => () => {
      this.items.splice(at, 1 - items.length, ...items);
      gone.forEach((one) => (one.state = left));
    };
    this.record([this.text], put([], "open"), put([item], "rejected"));
    this.goTo(at);
  }

  /** Take the reading of the other version, and back. */
  swap() {
    const item = this.current();
    if (!item.other) throw new UserError("There is no other reading of this entity.");
    const { start, end, type } = item;
    this.replace({ ...item.other }, { start, end, type });
  }

  /** Move the start or the end by a word. */
  move(edge, step) {
    const item = this.current();
    const edges = this.wordsOf(item.text).map((word) => word[edge === "start" ? 0 : 1]);
    const next = step > 0 ? edges.find((at) => at > item[edge]) : edges.findLast((at) => at < item[edge]);
    const span = { start: item.start, end: item.end, type: item.type, [edge]: next };
    if (next === undefined || span.start >= span.end) throw new UserError("It cannot be moved further.");
    this.replace(span);
  }

  replace(span, other = this.item.other) {
    const { item } = this;
    const moved = { ...item, ...span };
    if (item.state === "accepted") this.requireRoom(moved);
    const gone = item.state === "accepted" ? covered(this.items, moved) : [];
    const values = (one) => (one === item ? { ...span, other } : { state: "rejected" });
    this.change([item, ...gone], (one) => Object.assign(one, values(one)));
  }

  wordsOf(text) {
    if (!this.words.has(text)) this.words.set(text, this.texts[text].words());
    return this.words.get(text);
  }

  /** Return the current item, or refuse: a text may have none. */
  current() {
    if (!this.item) throw new UserError("No entity is proposed in this text: mark one, or go to another text.");
    return this.item;
  }

  /** Refuse an entity that overlaps one that will be in the file. */
  requireRoom(item, self = this.item) {
    const taken = this.overlapping(item, self);
    if (!taken) return;
    const words = visible(this.texts[item.text].slice(taken.start, taken.end));
    throw new UserError(
      taken.state
        ? `It overlaps “${words}”, which is accepted: reject one of them.`
        : `It overlaps “${words}”, which the file already has.`,
    );
  }

  /** Return an entity that will be in the file and overlaps this span; `self` does not count. */
  overlapping(span, self) {
    const accepted = (item) =>
      item !== self && item.text === span.text && item.state === "accepted" && overlap(item, span);
    return this.records[span.text].given.find((given) => overlap(span, given)) ?? this.items.find(accepted);
  }

  /** Accept every open item with at least this score and without a disagreement; return how many. */
  acceptAgreed(threshold) {
    const agreed = this.items.filter((item) => item.state === "open" && !item.reason && item.score >= threshold);
    let count = 0;
    this.change(agreed, (item) => {
      if (this.overlapping(item, item)) return;
      item.state = "accepted";
      count += 1;
    });
    this.goToOpen();
    return count;
  }

  uses(type) {
    return this.items.some((item) => item.type === type) || this.completeness.sets.some((set) => set.has(type));
  }

  undo() {
    const last = this.history.pop();
    if (!last) throw new UserError("There is nothing to undo.");
    last.restore();
    last.unsee();
    Object.assign(this, { at: last.at, text: last.text, unsaved: true });
  }

  /** Make an item the current one, and its text too. */
  goTo(at) {
    Object.assign(this, { at, text: this.items[at].text });
  }

  go(step) {
    if (this.items.length) this.goTo(Math.min(Math.max(this.at + step, 0), this.items.length - 1));
  }

  /** Go to another text that is not empty, and to the first item that is open in it, or else to its first. */
  goText(step) {
    let next = this.text + step;
    while (this.texts[next]?.isBlank) next += step;
    if (this.texts[next]) this.showText(next);
  }

  showText(text) {
    this.text = text;
    const here = (item) => item.text === this.text;
    const open = this.items.findIndex((item) => here(item) && item.state === "open");
    this.at = open < 0 ? this.items.findIndex(here) : open;
  }

  /** Go to the next open item: after this one, or else from the beginning. */
  goToOpen() {
    const open = (item) => item.state === "open";
    const next = this.items.findIndex((item, at) => at > this.at && open(item));
    const first = next < 0 ? this.items.findIndex(open) : next;
    if (first >= 0) this.goTo(first);
  }
}
