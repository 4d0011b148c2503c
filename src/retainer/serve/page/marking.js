/** Words of a text that a person chooses, to mark an entity: by mouse, by touch or by keys, always whole words. */

import { node } from "./dom.js";

/**
 * Make the nodes of a part of a text, with its words as elements that can be chosen.
 * @param {import("./codepoints.js").Text} text @param {[number, number][]} words
 */
export function wordNodes(text, words, start, end) {
  const nodes = [];
  let at = start;
  const first = words.findIndex((word) => word[1] > start);
  for (let index = first; index >= 0 && index < words.length && words[index][0] < end; index += 1) {
    const [from, to] = [Math.max(words[index][0], start), Math.min(words[index][1], end)];
    nodes.push(text.slice(at, from), node("span", { class: "word", "data-word": index }, text.slice(from, to)));
    at = to;
  }
  return [...nodes, text.slice(at, end)];
}

export class Marking {
  /** @param {HTMLElement} box which holds the words @param {() => void} onChange called when other words are chosen */
  constructor(box, onChange) {
    this.box = box;
    this.onChange = onChange;
    this.words = [];
    this.chosen = null;
    this.dragged = false;
    document.addEventListener("mousedown", () => (this.dragged = false));
    document.addEventListener("mouseup", () => this.takeSelection());
    box.addEventListener("click", (event) => this.dragged && event.stopPropagation(), true); // it ends a selection
    box.addEventListener("click", (event) => this.tap(event.target.closest("[data-word]")));
  }

  /** Begin with another text; no word of it is chosen. */
  reset(words) {
    this.words = words;
    this.chosen = null;
  }

  /** The chosen words as a span of characters, if there are any. */
  get span() {
    return this.chosen && { start: this.words[this.chosen[0]][0], end: this.words[this.chosen[1]][1] };
  }

  choose(first, last = first) {
    const inside = (at) => Math.min(Math.max(at, 0), this.words.length - 1);
    this.chosen = this.words.length && first !== null ? [inside(first), Math.max(inside(first), inside(last))] : null;
    for (const word of this.box.querySelectorAll("[data-word]")) word.classList.toggle("chosen", this.has(word));
    this.box.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
    this.onChange();
  }

  has(word) {
    const at = Number(word.dataset.word);
    return this.chosen !== null && this.chosen[0] <= at && at <= this.chosen[1];
  }

  /** Choose the first word behind a place in the text, or else the first of all. */
  begin(place) {
    const behind = this.words.findIndex(([start]) => start >= place);
    this.choose(Math.max(behind, 0));
  }

  /** Go on to another word, or back. */
  move(step) {
    const [first, last] = this.chosen;
    this.choose(step > 0 ? last + step : first + step);
  }

  /** Choose one word more at the end, or one less. */
  extend(step) {
    this.choose(this.chosen[0], this.chosen[1] + step);
  }

  /** Choose a word, and then all up to another; a chosen one again, and none is. */
  tap(word) {
    if (!word || word.closest(".entity[data-id]")) return;
    const at = Number(word.dataset.word);
    if (!this.chosen) this.choose(at);
    else if (this.has(word)) this.choose(null);
    else this.choose(Math.min(at, this.chosen[0]), Math.max(at, this.chosen[1]));
  }

  /** Choose the words that are selected, in part or whole. */
  takeSelection() {
    const selection = window.getSelection();
    if (selection.isCollapsed || !this.box.contains(selection.anchorNode)) return;
    const range = selection.getRangeAt(0);
    const touched = [...this.box.querySelectorAll("[data-word]")].filter((word) => isTouched(word.firstChild, range));
    if (!touched.length) return;
    this.dragged = true;
    selection.removeAllRanges();
    this.choose(Number(touched[0].dataset.word), Number(touched.at(-1).dataset.word));
  }
}

/** Return whether a range has a character of a text node. */
function isTouched(characters, range) {
  const own = new Range();
  own.selectNodeContents(characters);
  return (
    range.compareBoundaryPoints(Range.START_TO_END, own) > 0 && range.compareBoundaryPoints(Range.END_TO_START, own) < 0
  );
}
