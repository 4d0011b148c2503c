/** Find: the entities one version finds. Threshold and types only hide what is there, so moving them asks nobody. */

import { drawText, scored } from "./entities.js";
import { amount, name, node, part } from "./dom.js";
import { Pages } from "./paged_list.js";
import { postAll } from "./server.js";

export class Find {
  constructor(roster, notices) {
    this.roster = roster;
    this.notices = notices;
    this.texts = [];
    this.found = [];
    this.hidden = new Set();
    this.pages = new Pages(part("find-results"), (item) => this.card(item));
    this.version = part("find-version");
    this.calibrated = part("find-calibrated");
    this.threshold = part("find-threshold");
    roster.offer(this.version, roster.versions[0].name);
    this.offerCalibrated();
    this.version.addEventListener("change", () => {
      this.offerCalibrated();
      if (this.texts.length) this.run(this.texts);
    });
    this.calibrated.addEventListener("change", () => this.texts.length && this.run(this.texts));
    this.threshold.addEventListener("input", () => this.draw());
  }

  /** Only a version that was calibrated has scores that are probabilities. */
  offerCalibrated() {
    const types = this.roster.find(this.version.value).calibrated_types;
    this.calibrated.disabled = !types.length;
    if (!types.length) this.calibrated.checked = false;
    part("find-calibrated-note").textContent = types.length ? "" : "(this version has none)";
  }

  /** Ask the server about these texts. */
  async run(texts) {
    this.texts = texts;
    const version = this.version.value;
    const calibrated = this.calibrated.checked;
    await this.notices.during("Asking the server …", async (current) => {
      const told = (done, all) =>
        current() && done && this.notices.tell(`Asking the server: ${done} of ${all} texts …`);
      const answers = await postAll(
        "v1/predict",
        { version, calibrated },
        texts.map((one) => one.plain),
        told,
      );
      if (!current()) return;
      this.found = answers.flatMap((one) => one.results.map((result) => result.entities));
      this.probable = new Set(calibrated ? this.roster.find(version).calibrated_types : []);
      this.offerTypes();
      this.draw(false);
    });
  }

  /** Let one hide types: those this version knows. */
  offerTypes() {
    const known = this.roster.find(this.version.value).types;
    const counts = new Map(known.map((type) => [type, 0]));
    for (const one of this.found.flat()) counts.set(one.entity_group, (counts.get(one.entity_group) ?? 0) + 1);
    const boxes = [...counts].map(([type, count]) => {
      const box = node("input", { type: "checkbox", checked: !this.hidden.has(type) });
      box.addEventListener("change", () => {
        if (box.checked) this.hidden.delete(type);
        else this.hidden.add(type);
        this.draw();
      });
      return node(
        "label",
        { class: `type c${this.roster.look(type).hue}` },
        box,
        node("span", { class: "chip" }, name(type)),
        ` ${count}`,
      );
    });
    part("find-types").replaceChildren(node("legend", {}, "Types"), ...boxes);
    part("find-types").hidden = false;
  }

  draw(keep = true) {
    const least = Number(this.threshold.value);
    part("find-least").textContent = least.toFixed(2);
    if (!this.texts.length) return;
    const wanted = (one) => one.score >= least && !this.hidden.has(one.entity_group);
    const items = this.texts.map((text, at) => ({
      text,
      at,
      marks: this.found[at].filter(wanted).map((one) => this.mark(one)),
    }));
    const count = items.reduce((sum, one) => sum + one.marks.length, 0);
    const hidden = this.found.flat().length - count;
    const more = hidden ? `, ${hidden} hidden by threshold or type` : "";
    this.notices.tell(`${amount(count, "entity", "entities")} in ${amount(items.length, "text")}${more}.`);
    this.pages.show(items, keep);
  }

  /** A version may have calibrated only some of its types. */
  mark(one) {
    const { start, end, entity_group: type } = one;
    return { start, end, type, tip: scored(one.score, this.probable.has(type)) };
  }

  card({ text, at, marks }) {
    const label = this.texts.length > 1 ? node("h3", {}, `Text ${at + 1}`) : null;
    return node("article", { class: "card" }, label, drawText(text, marks, this.roster));
  }
}
