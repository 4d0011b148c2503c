/** All texts of the project: searched by the server and drawn a page at a time, however many there are. */

import { button, byId, node, plural, visible } from "./dom.js";

const PAGE_SIZE = 100;
const WAIT_MS = 150;
const SHOWN_CHARACTERS = 160;

export class TextsList {
  /** @param {(id: number) => void} onOpen */
  constructor(project, notices, onOpen) {
    Object.assign(this, { project, notices, onOpen, turn: 0, current: null });
    this.box = byId("texts-list");
    byId("texts-search").addEventListener("input", () => this.soon());
    byId("texts-decided").addEventListener("change", () => this.start());
    this.observer = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.more(), {
      root: this.box,
      rootMargin: "400px",
    });
  }

  /** Search when the person stops typing. */
  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.start(), WAIT_MS);
  }

  /** Show the list from its beginning. */
  async start() {
    this.turn += 1;
    const { turn } = this;
    const page = await this.load(0);
    if (!page || turn !== this.turn) return;
    this.box.replaceChildren();
    this.box.scrollTop = 0;
    byId("texts-count").textContent = `${plural(page.count, "text")}`;
    this.add(page);
  }

  async more() {
    const { turn, after } = this;
    if (!this.button || this.loading === after) return;
    this.loading = after;
    const page = await this.load(after);
    this.loading = null;
    if (page && turn === this.turn) this.add(page);
  }

  async load(after) {
    try {
      return await this.project.page(after, byId("texts-search").value.trim(), byId("texts-decided").value, PAGE_SIZE);
    } catch (error) {
      this.notices.reportError(error);
      return null;
    }
  }

  add({ items, more }) {
    if (this.button) this.observer.unobserve(this.button);
    this.button?.remove();
    this.button = null;
    this.box.append(node("ul", { class: "texts-page" }, items.map((item) => this.row(item))));
    if (!more) return;
    this.after = items.at(-1).id;
    this.button = button("Show more", () => this.more());
    this.box.append(this.button);
    this.observer.observe(this.button);
  }

  row(item) {
    const open = button("", () => this.onOpen(item.id), { "aria-current": item.id === this.current ? "true" : null });
    const points = Array.from(item.text.slice(0, 2 * SHOWN_CHARACTERS)).slice(0, SHOWN_CHARACTERS);
    open.append(
      node("bdi", { class: "what" }, visible(points.join(""))),
      node("span", { class: "muted" }, item.annotation.decided ? "✓ decided" : item.revision ? "changed" : ""),
    );
    return node("li", { "data-text": item.id }, open);
  }

  /** Mark the text that is open. */
  mark(id) {
    this.current = id;
    this.box.querySelector("[aria-current]")?.removeAttribute("aria-current");
    this.box.querySelector(`[data-text="${Number(id)}"] button`)?.setAttribute("aria-current", "true");
  }

  /** Draw a text anew that was changed. */
  update(item) {
    this.box.querySelector(`[data-text="${Number(item.id)}"]`)?.replaceWith(this.row(item));
  }

  has(id) {
    return this.box.querySelector(`[data-text="${Number(id)}"]`) !== null;
  }
}
