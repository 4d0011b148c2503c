/** The types of the project: added, renamed, coloured, merged and removed in place. */

import { button, byId, nameNode, node, plural, visible } from "./dom.js";
import { UserError } from "./errors.js";

const COLOURS = ["blue", "vermilion", "green", "purple", "orange", "sky", "grey"];

export class TypeEditor {
  /** @param {import("./look.js").Look} look */
  constructor(project, notices, look) {
    Object.assign(this, { project, notices, look });
    byId("types-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const field = byId("types-new");
      const name = field.value.trim();
      field.value = "";
      if (name) this.add(name);
    });
    byId("types-merge").addEventListener("submit", (event) => {
      event.preventDefault();
      this.merge();
    });
    project.onChange(() => this.draw());
  }

  /** Add a type; where another one has nearly the same name, only if the person wants both. */
  add(name, confirmed = false) {
    const like = this.project.typeNames.find((other) => other !== name && folded(other) === folded(name));
    const place = byId("types-similar");
    place.hidden = !like || confirmed;
    if (place.hidden) return this.change({ action: "add", name, confirmed }, () => this.welcome(name));
    this.notices.report(`There is ${visible(like)} already.`);
    const both = button(`Add ${visible(name)} all the same`, () => this.add(name, true));
    place.replaceChildren(nameNode(name), ": there is ", nameNode(like), " already. ", both);
    return both.focus();
  }

  /** Say that a type is new, and what that means for texts that were decided before. */
  welcome(name) {
    return `The type ${visible(name)} is new.${this.openTexts(name)}`;
  }

  /** Say how many decided texts are not complete for a type; nothing where all are. */
  openTexts(name) {
    const count = this.project.openFor(name);
    const open = `${plural(count, "decided text is", "decided texts are")} not complete for it`;
    return count ? ` ${open}: Show in All texts lists them.` : "";
  }

  /** Change a type; a text that is open is saved before and shown anew, since its entities have the new name. */
  change(request, message) {
    return this.look.act(async () => {
      const { sheet } = this.look;
      const relabels = ["rename", "merge"].includes(request.action);
      if (relabels) await this.look.leave();
      try {
        await this.project.changeType(request);
      } catch (error) {
        this.draw(true);
        this.notices.report("");
        throw error;
      }
      if (relabels && sheet) this.look.show(await this.project.text(sheet.id));
      this.notices.report(typeof message === "function" ? message() : message);
    });
  }

  /** Draw the types, unless somebody is writing there. */
  draw(always = false) {
    const table = byId("types-rows");
    const drawn = JSON.stringify(this.project.types);
    if (!always && (drawn === this.drawn || table.contains(document.activeElement))) return;
    this.drawn = drawn;
    table.replaceChildren(...this.project.types.map((type) => this.row(type)));
    this.drawMerge();
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
    const remove = async () => {
      await this.change({ action: "remove", name }, `The type ${label} is removed.`);
      this.draw(true);
    };
    form.append(button("Remove", remove, { "aria-label": `Remove ${label}` }));
    return node("li", {}, form);
  }

  /** Make a type part of another, in all texts. */
  merge() {
    const [name, into] = ["types-merge-from", "types-merge-into"].map((id) => byId(id).value);
    if (name === into) return this.notices.reportError(new UserError("Choose two different types to merge."));
    const said = `${visible(name)} is part of ${visible(into)} now.`;
    return this.change({ action: "merge", name, into }, () => `${said}${this.openTexts(into)}`);
  }

  /** Offer all types to merge. */
  drawMerge() {
    const names = this.project.typeNames;
    byId("types-merge").hidden = names.length < 2;
    for (const id of ["types-merge-from", "types-merge-into"]) {
      const { value } = byId(id);
      byId(id).replaceChildren(...names.map((name) => node("option", { value: name }, visible(name))));
      byId(id).value = names.includes(value) ? value : names.at(id.endsWith("from") ? -1 : 0);
    }
  }
}

/** A name without what is easily written in two ways. */
function folded(name) {
  return name.toLowerCase().replace(/[\s_-]/gu, "");
}
