/** A text removed for good, after the person has confirmed it. */

import { byId, nameNode, node, plural } from "./dom.js";

export class RemoveText {
  /** @param {import("./look.js").Look} look @param {() => Promise<void>} onRemoved */
  constructor(project, notices, look, onRemoved) {
    Object.assign(this, { project, notices, look, onRemoved });
    this.dialog = byId("removal");
    byId("look-remove").addEventListener("click", () => this.ask());
    byId("removal-cancel").addEventListener("click", () => this.dialog.close());
    byId("removal-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.dialog.close();
      this.remove(this.id);
    });
  }

  ask() {
    if (!this.look.sheet) return;
    this.id = this.look.sheet.id;
    byId("removal-title").textContent = `Remove text ${this.id} for good?`;
    this.dialog.showModal();
    byId("removal-cancel").focus();
  }

  /** Remove the text, and go on with the next one; what was done to it and not saved goes with it. */
  remove(id) {
    return this.look.act(async () => {
      this.notices.report("Removing the text …");
      const { versions } = await this.project.change("remove", { ids: [id] });
      if (this.look.sheet?.id === id) this.look.sheet = null;
      this.look.trail = this.look.trail.filter((one) => one !== id);
      byId("look-item").hidden = true;
      await this.onRemoved();
      await this.look.next(`Text ${id} is removed.`);
      this.warn(versions);
    });
  }

  /** Say which versions learned from it: nothing can take that back but teaching again from another one. */
  warn(versions) {
    const place = byId("look-learned");
    place.hidden = !versions.length;
    const names = versions.flatMap((name, at) => [at ? ", " : "", nameNode(name)]);
    const those = plural(versions.length, "version");
    place.replaceChildren(node("span", {}, `${those} learned from that text and cannot unlearn it: `, ...names, "."));
  }
}
