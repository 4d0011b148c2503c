/** The types of the project: added, renamed and coloured in place. */

import { button, byId, node, visible } from "./dom.js";

const COLOURS = ["blue", "vermillion", "green", "purple", "orange", "sky", "grey"];

export class TypeEditor {
  /** @param {import("./look.js").Look} look */
  constructor(project, notices, look) {
    Object.assign(this, { project, notices, look });
    byId("types-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const field = byId("types-new");
      const name = field.value.trim();
      field.value = "";
      if (name) this.change({ action: "add", name }, `The type ${visible(name)} is new.`);
    });
    project.onChange(() => this.draw());
  }

  /** Change a type; a text that is open is saved before and shown anew, since its entities have the new name. */
  change(request, message) {
    return this.look.act(async () => {
      const { sheet } = this.look;
      if (request.action === "rename") await this.look.leave();
      try {
        await this.project.changeType(request);
      } catch (error) {
        this.draw(true);
        this.notices.report("");
        throw error;
      }
      if (request.action === "rename" && sheet) this.look.show(await this.project.text(sheet.id));
      this.notices.report(message);
    });
  }

  /** Draw the types, unless somebody is writing there. */
  draw(always = false) {
    const table = byId("types-rows");
    const drawn = JSON.stringify(this.project.types);
    if (!always && (drawn === this.drawn || table.contains(document.activeElement))) return;
    this.drawn = drawn;
    table.replaceChildren(...this.project.types.map((type) => this.row(type)));
  }

  row({ name, colour, entities, complete }) {
    const label = visible(name);
    const named = { autocomplete: "off", "aria-label": `Name of ${label}` };
    const field = node("input", { type: "text", maxlength: 200, ...named });
    field.value = name;
    const select = node("select", { "aria-label": `Colour of ${label}` });
    select.append(...COLOURS.map((one, at) => node("option", { value: at }, one)));
    select.value = String(colour % COLOURS.length);
    select.addEventListener("change", () => {
      const chosen = Number(select.value);
      this.change({ action: "recolour", name, colour: chosen }, `${label} is ${COLOURS[chosen]} now.`);
    });
    const rename = async (event) => {
      event.preventDefault();
      const wanted = field.value.trim();
      if (!wanted || wanted === name) return;
      await this.change({ action: "rename", name, new_name: wanted }, `${label} is called ${visible(wanted)} now.`);
      this.draw(true);
    };
    const form = node("form", { class: `row type-row c${colour % COLOURS.length}` });
    const count = `${entities} marked, complete in ${complete}`;
    const save = button("Rename", rename, { "aria-label": `Rename ${label}` });
    form.append(node("span", { class: "swatch", "aria-hidden": "true" }), field, save, select);
    form.append(node("span", { class: "muted" }, count));
    form.addEventListener("submit", rename);
    return node("li", {}, form);
  }
}
