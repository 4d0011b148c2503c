/** A long list, some items at a time: drawing thousands of texts at once would slow the browser down. */

import { button, node } from "./dom.js";

const PAGE_SIZE = 40;

export class PagedList {
  /** @param {HTMLElement} container @param {(item: any, index: number) => Node} draw */
  constructor(container, draw) {
    this.container = container;
    this.draw = draw;
    this.items = [];
    this.shown = 0;
  }

  /** Show a list from its beginning; `keep` shows as many items as before. */
  show(items, keep = false) {
    const wanted = keep ? Math.max(this.shown, PAGE_SIZE) : PAGE_SIZE;
    this.items = items;
    this.shown = 0;
    this.container.replaceChildren();
    this.showMore(wanted);
  }

  showMore(count = PAGE_SIZE) {
    this.container.querySelector(".more")?.remove();
    const next = this.items.slice(this.shown, this.shown + count);
    const nodes = next.map((item, at) => this.draw(item, this.shown + at));
    this.shown += next.length;
    this.container.append(...nodes);
    const left = this.items.length - this.shown;
    if (left > 0)
      this.container.append(
        node(
          "p",
          { class: "more" },
          button(`Show ${Math.min(left, PAGE_SIZE)} more of ${left}`, () => this.showMore()),
        ),
      );
  }

  /** Make sure that the item with this index is on the page. */
  reach(index) {
    if (index >= this.shown) this.showMore(index + 1 - this.shown);
  }
}
