/** The types of a text: a button and a key for each, and a field for any other name. */

import { button, byId, nameNode, node } from "./dom.js";
import { UserError } from "./errors.js";

export class TypeChoice {
  /**
   * @param {(type: string) => unknown} onChoose returns false if nothing got the type
   * @param {string} view whose elements it uses
   */
  constructor(versions, notices, onChoose, view = "review") {
    this.view = view;
    this.versions = versions;
    this.onChoose = onChoose;
    this.types = [];
    this.field = byId(`${view}-new-type`);
    byId(`${view}-new`).addEventListener("submit", (event) => {
      event.preventDefault();
      try {
        this.chooseNamed(this.field.value.trim());
      } catch (error) {
        notices.reportError(error);
      }
    });
  }

  /** Begin with some types. */
  start(types) {
    this.first = new Set(types);
    this.offer([...this.first]);
  }

  offer(types) {
    this.types = types;
    this.draw();
  }

  /** Drop names that were added since, and that nobody needs. */
  forget(isUnused) {
    const kept = this.types.filter((type) => this.first.has(type) || !isUnused(type));
    if (kept.length < this.types.length) this.offer(kept);
  }

  /** Choose a type by name; a new one gets a button if something gets the type. */
  chooseNamed(type) {
    if (!type) throw new UserError("Write the name of a type first.");
    if (type === "O") throw new UserError("No type can be called O: it means no entity.");
    const before = this.types;
    if (!before.includes(type)) this.offer([...before, type]);
    if (this.onChoose(type) === false) this.offer(before);
    else this.field.value = "";
    byId(`${this.view}-text`).focus();
  }

  draw() {
    const buttons = this.types.map((type, at) => {
      const key = at < 9 ? String(at + 1) : null;
      const hue = `c${this.versions.style(type).hue}`;
      const one = button("", () => this.onChoose(type), { class: hue, "aria-keyshortcuts": key });
      if (key) one.append(node("kbd", {}, key), " ");
      one.append(nameNode(type));
      one.dataset.type = type;
      return one;
    });
    byId(`${this.view}-types`).replaceChildren(...buttons);
  }
}
