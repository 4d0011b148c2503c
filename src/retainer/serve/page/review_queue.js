/** The decisions of a review: one item after the other, every step of which can be undone. Nothing here draws. */

import { spelled } from "./dom.js";
import { overlap } from "./proposals.js";
import { Trouble } from "./notices.js";

export class Queue {
  /** @param {{plain: string, given: object[]}[]} records @param {object[]} items most doubtful first */
  constructor(records, texts, items) {
    this.records = records;
    this.texts = texts;
    this.items = items;
    this.at = 0;
    this.past = [];
    this.dirty = false;
    this.words = new Map();
  }

  get item() {
    return this.items[this.at];
  }

  /** Say what became of an item in a word. */
  static state(item) {
    if (item.state !== "accepted") return item.state;
    const { start, end, type } = item.was;
    return item.start === start && item.end === end && item.type === type ? "accepted" : "corrected";
  }

  counts() {
    const counts = { open: 0, accepted: 0, corrected: 0, rejected: 0 };
    for (const one of this.items) counts[Queue.state(one)] += 1;
    return counts;
  }

  /** Remember what will be changed, then change it. */
  change(items, act) {
    if (!items.length) return;
    const before = items.map((one) => [one, { ...one }]);
    const { at } = this;
    items.forEach(act);
    this.past.push({ before, at });
    this.dirty = true;
  }

  accept() {
    this.require(this.item);
    this.change([this.item], (one) => (one.state = "accepted"));
    this.onward();
  }

  reject() {
    this.change([this.item], (one) => (one.state = "rejected"));
    this.onward();
  }

  retype(type) {
    this.change([this.item], (one) => (one.type = type));
  }

  /** Take the reading of the other version, and back. */
  swap() {
    const { item } = this;
    if (!item.other) throw new Trouble("There is no other reading of this one.");
    const { start, end, type } = item;
    this.place({ ...item.other }, { start, end, type });
  }

  /** Move the start or the end by a word. */
  move(edge, step) {
    const { item } = this;
    const edges = this.edges(item.text).map((word) => word[edge === "start" ? 0 : 1]);
    const next = step > 0 ? edges.find((at) => at > item[edge]) : edges.findLast((at) => at < item[edge]);
    const to = { start: item.start, end: item.end, type: item.type, [edge]: next };
    if (next === undefined || to.start >= to.end) throw new Trouble("It cannot be moved further.");
    this.place(to);
  }

  place(to, other = this.item.other) {
    const { item } = this;
    if (item.state === "accepted") this.require({ ...item, ...to });
    this.change([item], (one) => Object.assign(one, to, { other }));
  }

  /** Where the words of a text begin and end. */
  edges(text) {
    if (!this.words.has(text)) this.words.set(text, this.texts[text].words());
    return this.words.get(text);
  }

  /** Entities of a file must not overlap: what is accepted must leave room. */
  require(item) {
    const taken = this.inTheWay(item, this.item);
    if (!taken) return;
    const words = spelled(this.texts[item.text].slice(taken.start, taken.end));
    throw new Trouble(
      taken.was
        ? `It overlaps “${words}”, which is accepted: reject one of them.`
        : `It overlaps “${words}”, which the file already has.`,
    );
  }

  /** Return an entity that will be in the file and overlaps this place; `self` does not count. */
  inTheWay(place, self) {
    const accepted = (one) =>
      one !== self && one.text === place.text && one.state === "accepted" && overlap(one, place);
    return this.records[place.text].given.find((one) => overlap(place, one)) ?? this.items.find(accepted);
  }

  /** Accept all that is open from a score on, about which nobody disagrees; return how many. */
  acceptSure(least) {
    const sure = this.items.filter((one) => one.state === "open" && !one.reason && one.score >= least);
    let count = 0;
    this.change(sure, (one) => {
      if (this.inTheWay(one, one)) return;
      one.state = "accepted";
      count += 1;
    });
    this.onward();
    return count;
  }

  undo() {
    const last = this.past.pop();
    if (!last) throw new Trouble("There is nothing to undo.");
    for (const [one, copy] of last.before) Object.assign(one, copy);
    this.at = last.at;
    this.dirty = true;
  }

  go(step) {
    this.at = Math.min(Math.max(this.at + step, 0), this.items.length - 1);
  }

  /** Go to the next one that waits for a decision: after this one, or else from the beginning. */
  onward() {
    const open = (one) => one.state === "open";
    const next = this.items.findIndex((one, at) => at > this.at && open(one));
    const first = next < 0 ? this.items.findIndex(open) : next;
    if (first >= 0) this.at = first;
  }
}
