/** A long list, some at a time: a browser that draws thousands of texts at once becomes slow. */

import { button, node } from "./dom.js";

const STEP = 40;

export class Pages {
  /** @param {HTMLElement} place @param {(item: any, at: number) => Node} draw */
  constructor(place, draw) {
    this.place = place;
    this.draw = draw;
    this.items = [];
    this.shown = 0;
  }

  /** Show a list from its beginning; `keep` shows as many as were shown before. */
  show(items, keep = false) {
    const wanted = keep ? Math.max(this.shown, STEP) : STEP;
    this.items = items;
    this.shown = 0;
    this.place.replaceChildren();
    this.more(wanted);
  }

  /** Show so many more. */
  more(count = STEP) {
    this.place.querySelector(".more")?.remove();
    const next = this.items.slice(this.shown, this.shown + count);
    const made = next.map((item, at) => this.draw(item, this.shown + at));
    this.shown += next.length;
    this.place.append(...made);
    const left = this.items.length - this.shown;
    if (left > 0)
      this.place.append(
        node(
          "p",
          { class: "more" },
          button(`Show ${Math.min(left, STEP)} more of ${left}`, () => this.more()),
        ),
      );
  }

  /** Make sure the item with this index is on the page. */
  reach(at) {
    if (at >= this.shown) this.more(at + 1 - this.shown);
  }
}
