/** Two people changed the same text: what the other one said stands beside one's own, and the person chooses. */

import { button, byId, nameNode, node, visible } from "./dom.js";
import { drawPassive } from "./entities.js";

const EARLIER = { undo: "Undo what you did before that", redo: "Redo what you took back before that" };

export class ConflictPanel {
  /** @param {import("./look.js").Look} look */
  constructor(look) {
    this.look = look;
    this.box = byId("look-conflict");
  }

  get isVisible() {
    return !this.box.hidden;
  }

  hide() {
    this.box.hidden = true;
    this.box.replaceChildren();
  }

  /** Show a conflict that the server reported; `way` is what was asked for: a change, undo or redo. */
  show({ message, answer, way }) {
    if (answer.change) this.showReversal(message, answer, EARLIER[way] ? way : "undo");
    else this.showBoth(answer.current);
  }

  /** Show what both said about the text that is open. */
  showBoth(current) {
    const { look } = this;
    const mine = look.sheet.annotation(look.sheet.decides);
    const who = visible(current.who ?? "Somebody");
    const theirs = button(`Take what ${who} said`, () => look.act(() => this.take(current)));
    this.fill(
      `${who} changed this text while you looked at it. Nothing was overwritten: choose.`,
      [this.side("You", look.sheet, mine), this.side(who, look.sheet, current.annotation)],
      [button("Keep mine", () => look.act(() => this.keep(current))), theirs],
    );
  }

  /** Something that was to be undone or redone was changed by somebody else since. */
  showReversal(message, { current, change }, way) {
    const { look } = this;
    const earlier = () => look.act(() => look.reverse(way, change));
    this.fill(
      message,
      [],
      [
        button(`Open text ${current.id}`, () => look.act(() => look.open(current.id))),
        button(EARLIER[way], earlier),
      ],
    );
  }

  fill(message, sides, buttons) {
    this.box.replaceChildren(
      node("h4", { tabindex: -1 }, message),
      node("div", { class: "sides" }, sides),
      node("div", { class: "row" }, buttons),
    );
    this.box.hidden = false;
    this.box.querySelector("h4").focus();
    this.look.notices.report(message);
  }

  async keep(current) {
    const { look } = this;
    const item = await look.save(look.sheet.decides, current.revision);
    look.show(await look.project.text(item.id), "Yours is saved; the other change is in the history.");
  }

  async take(current) {
    const { look } = this;
    look.sheet.history = [];
    look.show(await look.project.text(current.id), "You see what the other one said; yours is dropped.");
  }

  side(who, sheet, { entities, decided, complete }) {
    const [text] = sheet.texts;
    const drawn = drawPassive(text, entities, this.look.project, (start, end) => [text.slice(start, end)]);
    const types = complete.length ? `, complete for ${complete.map(visible).join(", ")}` : "";
    const state = node("p", { class: "muted" }, `${decided ? "decided" : "not decided"}${types}`);
    return node("div", { class: "side" }, node("h5", {}, nameNode(who)), drawn, state);
  }
}
