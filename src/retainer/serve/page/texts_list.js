/** All texts of the project: searched by the server, and drawn only around what is in view, however many there are. */

import { button, byId, node, plural, visible } from "./dom.js";

const PAGE_SIZE = 50;
const WAIT_MS = 150;
const SHOWN_CHARACTERS = 160;
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -Infinity, End: Infinity };

export class TextsList {
  /** @param {(id: number) => void} onOpen */
  constructor(project, notices, onOpen) {
    Object.assign(this, { project, notices, onOpen, turn: 0, current: null, count: 0, pages: new Map() });
    this.box = byId("texts-list");
    this.space = node("div", { class: "texts-space" });
    this.box.append(this.space);
    byId("texts-search").addEventListener("input", () => this.soon());
    byId("texts-decided").addEventListener("change", () => this.start());
    project.onChange(() => this.offer());
    this.box.addEventListener("scroll", () => this.fill(), { passive: true });
    this.box.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** Offer the decided texts that are not complete for a type, where there are some. */
  offer() {
    const [select, place] = [byId("texts-decided"), byId("texts-incomplete")];
    const chosen = select.selectedOptions[0]?.dataset.type;
    const names = this.project.typeNames.filter((name) => name === chosen || this.project.openFor(name));
    const drawn = JSON.stringify(names);
    if (drawn === this.offered) return;
    this.offered = drawn;
    const option = (name) => node("option", { "data-type": name, selected: name === chosen }, visible(name));
    place.replaceChildren(...names.map(option));
    place.hidden = !names.length;
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
    this.pages.clear();
    this.space.replaceChildren();
    this.box.scrollTop = 0;
    this.count = page.count;
    byId("texts-count").textContent = `${plural(page.count, "text")}`;
    this.add(0, page);
    this.fill();
  }

  /** Draw what could not be drawn while the list was hidden. */
  show() {
    if (this.height) this.fill();
    else if (this.turn) this.start();
  }

  /** Draw the pages in view, and let go of those far from it; one request at a time, for what is in view then. */
  async fill() {
    const first = Math.max(0, this.pageAt(this.box.scrollTop) - 1);
    const last = this.pageAt(this.box.scrollTop + 2 * this.box.clientHeight);
    for (const [at, drawn] of this.pages)
      if ((at < first || at > last) && !drawn.contains(document.activeElement)) this.drop(at);
    const wanted = this.missing(first, last);
    if (wanted === undefined || this.loading) return;
    const { turn } = this;
    this.loading = true;
    const page = await this.load(wanted * PAGE_SIZE);
    this.loading = false;
    if (page && turn === this.turn) this.add(wanted, page);
    if (page) this.fill();
  }

  /** The first page that is not drawn: those in view come before those around it. */
  missing(first, last) {
    const order = [this.pageAt(this.box.scrollTop), last, first];
    for (let at = first; at <= last; at += 1) order.push(at);
    return order.find((at) => !this.pages.has(at) && at >= 0 && at * PAGE_SIZE < this.count);
  }

  pageAt(height) {
    return this.height ? Math.floor(height / this.height / PAGE_SIZE) : 0;
  }

  drop(at) {
    this.pages.get(at).remove();
    this.pages.delete(at);
  }

  async load(at) {
    const search = byId("texts-search").value.trim();
    const [shown] = byId("texts-decided").selectedOptions;
    const incomplete = shown?.dataset.type;
    const decided = incomplete === undefined ? shown?.value : "";
    try {
      return await this.project.page({ at, search, decided, incomplete, limit: PAGE_SIZE });
    } catch (error) {
      this.notices.reportError(error);
      return null;
    }
  }

  /** Draw a page at its place; the first one says how high a row is. */
  add(at, { items }) {
    if (this.pages.has(at)) return;
    const drawn = node("ul", { class: "texts-page" }, items.map((item, row) => this.row(item, at * PAGE_SIZE + row)));
    this.space.append(drawn);
    this.pages.set(at, drawn);
    if (items.length && drawn.offsetHeight) this.height = drawn.getBoundingClientRect().height / items.length;
    drawn.style.top = `${at * PAGE_SIZE * (this.height ?? 0)}px`;
    this.space.style.height = `${this.count * (this.height ?? 0)}px`;
  }

  row(item, at) {
    const current = item.id === this.current ? "true" : null;
    const open = button("", () => this.onOpen(item.id), { "aria-current": current, tabindex: -1 });
    const points = Array.from(item.text.slice(0, 2 * SHOWN_CHARACTERS)).slice(0, SHOWN_CHARACTERS);
    open.append(
      node("bdi", { class: "what" }, visible(points.join(""))),
      node("span", { class: "muted" }, item.annotation.decided ? "✓ decided" : item.revision ? "changed" : ""),
    );
    const place = { "aria-posinset": at + 1, "aria-setsize": this.count, "data-at": at };
    return node("li", { "data-text": item.id, ...place }, open);
  }

  /** The arrow keys go from text to text, Home and End to the first and the last. */
  async onKey(event) {
    const step = STEPS[event.key];
    if (step === undefined || !this.count) return;
    event.preventDefault();
    const from = document.activeElement.closest("#texts-list li")?.dataset.at;
    const top = Math.ceil(this.box.scrollTop / (this.height || 1));
    const wanted = from === undefined && Number.isFinite(step) ? top : Number(from ?? top) + step;
    await this.goTo(Math.min(this.count - 1, Math.max(0, wanted)));
  }

  /** Bring a row into view and give it the focus, as soon as it is drawn. */
  async goTo(at) {
    const above = at * this.height - this.box.scrollTop;
    const room = this.box.clientHeight - this.height;
    if (above < 0 || above > room) this.box.scrollTop += above < 0 ? above : above - room;
    const { turn } = this;
    this.wanted = at;
    await this.fill();
    while (this.loading && turn === this.turn) await new Promise((resolve) => setTimeout(resolve, 10));
    if (this.wanted === at) this.box.querySelector(`[data-at="${at}"] button`)?.focus({ preventScroll: true });
  }

  /** Mark the text that is open. */
  mark(id) {
    this.current = id;
    this.box.querySelector("[aria-current]")?.removeAttribute("aria-current");
    this.box.querySelector(`[data-text="${Number(id)}"] button`)?.setAttribute("aria-current", "true");
  }

  /** Draw a text anew that was changed. */
  update(item) {
    if (byId("texts-decided").selectedOptions[0]?.dataset.type !== undefined) return void this.start();
    const drawn = this.box.querySelector(`[data-text="${Number(item.id)}"]`);
    drawn?.replaceWith(this.row(item, Number(drawn.dataset.at)));
  }

  has(id) {
    return this.box.querySelector(`[data-text="${Number(id)}"]`) !== null;
  }
}
