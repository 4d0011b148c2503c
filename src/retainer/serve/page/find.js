/** Find: the entities that one version finds. Threshold and types only hide entities, so they need no request. */

import { byId, nameNode, node, plural } from "./dom.js";
import { drawText, scoreText } from "./entities.js";
import { PagedList } from "./paged_list.js";
import { postAll } from "./server.js";

export class Find {
  constructor(versions, notices) {
    this.versions = versions;
    this.notices = notices;
    this.texts = [];
    this.entities = [];
    this.hidden = new Set();
    this.list = new PagedList(byId("find-results"), (item) => this.card(item));
    this.version = byId("find-version");
    this.calibrated = byId("find-calibrated");
    this.threshold = byId("find-threshold");
    this.onVersions();
    this.version.addEventListener("change", () => {
      this.updateCalibrated();
      if (this.texts.length) this.run(this.texts);
    });
    this.calibrated.addEventListener("change", () => this.texts.length && this.run(this.texts));
    this.threshold.addEventListener("input", () => this.draw());
  }

  /** Offer the versions that are served now. */
  onVersions() {
    this.versions.fill(this.version, this.versions.all[0].name);
    this.updateCalibrated();
  }

  /** Offer calibrated scores only for a version that has them. */
  updateCalibrated() {
    const { calibrated_types: types, types: known } = this.versions.find(this.version.value);
    this.calibrated.disabled = !types.length;
    if (!types.length) this.calibrated.checked = false;
    const some = types.length < known.length ? `(${types.length} of ${plural(known.length, "type")})` : "";
    byId("find-calibrated-note").textContent = types.length ? some : "(this version has none)";
  }

  /** Ask the server for the entities of these texts. */
  async run(texts) {
    this.texts = texts;
    const version = this.version.value;
    const calibrated = this.calibrated.checked;
    await this.notices.during("Asking the server …", async (current) => {
      const onProgress = (done, all) =>
        current() && done && this.notices.report(`Asking the server: ${done} of ${all} texts …`);
      const responses = await postAll(
        "v1/predict",
        { version, calibrated },
        texts.map((text) => text.plain),
        onProgress,
      );
      if (!current()) return;
      this.entities = responses.flatMap((response) => response.results.map((result) => result.entities));
      this.calibratedTypes = new Set(calibrated ? this.versions.find(version).calibrated_types : []);
      this.drawTypes();
      this.draw(false);
    });
  }

  /** Draw a checkbox for each type that this version knows. */
  drawTypes() {
    const known = this.versions.find(this.version.value).types;
    const counts = new Map(known.map((type) => [type, 0]));
    for (const one of this.entities.flat()) counts.set(one.entity_group, (counts.get(one.entity_group) ?? 0) + 1);
    const boxes = [...counts].map(([type, count]) => {
      const box = node("input", { type: "checkbox", checked: !this.hidden.has(type) });
      box.addEventListener("change", () => {
        if (box.checked) this.hidden.delete(type);
        else this.hidden.add(type);
        this.draw();
      });
      return node(
        "label",
        { class: `type c${this.versions.style(type).hue}` },
        box,
        node("span", { class: "chip" }, nameNode(type)),
        ` ${count}`,
      );
    });
    byId("find-types").replaceChildren(node("legend", {}, "Types"), ...boxes);
    byId("find-types").hidden = false;
  }

  draw(keep = true) {
    const threshold = Number(this.threshold.value);
    byId("find-least").textContent = threshold.toFixed(2);
    if (!this.texts.length) return;
    const wanted = (one) => one.score >= threshold && !this.hidden.has(one.entity_group);
    const items = this.texts.map((text, at) => ({
      text,
      at,
      marks: this.entities[at].filter(wanted).map((one) => this.mark(one)),
    }));
    const count = items.reduce((sum, item) => sum + item.marks.length, 0);
    const hidden = this.entities.flat().length - count;
    const more = hidden ? `, ${hidden} hidden by threshold or type` : "";
    this.notices.report(`${plural(count, "entity", "entities")} in ${plural(items.length, "text")}${more}.`);
    this.list.show(items, keep);
  }

  /** A version may have calibrated only some of its types. */
  mark(one) {
    const { start, end, entity_group: type } = one;
    return { start, end, type, tip: scoreText(one.score, this.calibratedTypes.has(type)) };
  }

  card({ text, at, marks }) {
    const title = this.texts.length > 1 ? node("h3", {}, `Text ${at + 1}`) : null;
    return node("article", { class: "card" }, title, drawText(text, marks, this.versions));
  }
}
