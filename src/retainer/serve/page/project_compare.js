/** The new version against the one in use: a sentence that says yes or no, a table of types, and what differs where. */

import { Text } from "./codepoints.js";
import { KINDS, changeNote } from "./compare.js";
import { byId, nameNode, node, plural, textLink, visible } from "./dom.js";
import { drawText } from "./entities.js";
import { PagedList } from "./paged_list.js";
import { get } from "./server.js";

export class ProjectCompare {
  /** @param {(name: string) => void} onUse @param {(id: number) => void} onOpen */
  constructor(project, notices, onUse, onOpen) {
    Object.assign(this, { project, notices, onOpen });
    this.list = new PagedList(byId("against-results"), (sentence) => this.card(sentence));
    this.old = byId("against-old");
    this.new = byId("against-new");
    byId("against-go").addEventListener("click", () => this.run());
    byId("against-use").addEventListener("click", () => onUse(this.answer.new));
    project.onChange(() => this.fill());
  }

  /** Offer the versions: the one in use as old, the latest other one as new; a first one is scored alone. */
  fill(fresh = null) {
    const names = this.project.versions.map((version) => version.name);
    const [old, latest] = [this.old.value, fresh ?? this.new.value];
    for (const select of [this.old, this.new])
      select.replaceChildren(...names.map((name) => node("option", { value: name }, visible(name))));
    this.old.prepend(node("option", { value: "" }, "nothing"));
    this.new.value = names.includes(latest) ? latest : (this.project.latest?.name ?? names.at(-1) ?? "");
    this.old.value = names.includes(old) && !fresh ? old : (this.project.in_use ?? names[0] ?? "");
    if (names.length < 2) this.old.value = "";
    byId("against-few").hidden = names.length > 0;
    byId("against-go").disabled = !names.length;
  }

  /** Compare a version with the one in use. */
  look(name) {
    this.new.value = name;
    this.old.value = this.project.in_use ?? this.old.value;
    return this.run();
  }

  run() {
    byId("against-answer").hidden = true;
    this.list.show([]);
    return this.notices.during("Comparing …", async (current) => {
      const query = new URLSearchParams({ new: this.new.value });
      if (this.old.value) query.set("old", this.old.value);
      const answer = await get(`v1/project/compare?${query}`);
      if (current()) this.draw(answer);
    });
  }

  draw(answer) {
    this.answer = answer;
    const { verdict, gold, texts, sentences } = answer;
    byId("against-verdict").textContent = verdict.sentence;
    byId("against-verdict").className = `verdict ${verdict.answer}`;
    byId("against-use").replaceChildren("Use ", nameNode(answer.new));
    byId("against-use").disabled = answer.new === this.project.in_use;
    const heldBack = plural(gold.texts, "decided text");
    byId("against-gold").textContent = `F1 on the ${heldBack} held back: each type on those complete for it`;
    byId("against-types").replaceChildren(...gold.types.map((row) => this.row(row)));
    byId("against-table").hidden = !gold.types.length;
    byId("against-counts").replaceChildren(
      ...KINDS.map((kind) => node("li", { class: kind }, node("b", {}, String(texts[kind] ?? 0)), ` ${kind}`)),
    );
    byId("against-answer").hidden = false;
    this.list.show(sentences);
    this.notices.report(`${plural(texts.all ?? gold.texts, "text")} compared.`);
    byId("against-verdict").focus({ preventScroll: true });
  }

  row(one) {
    const { type, before, after, gold, texts } = one;
    const chip = node("span", { class: `chip c${this.project.style(type).hue}` }, nameNode(type));
    const cells = [score(before), score(after), change(one), String(gold), String(texts)];
    return node("tr", {}, node("th", { scope: "row" }, chip), cells.map((cell) => node("td", {}, cell)));
  }

  card({ id, text, changes }) {
    const drawn = new Text(text);
    const side = (which) => {
      const marks = changes.filter((one) => one[which]).map((one) => mark(one, which));
      const name = nameNode(this.answer[which]);
      return node("div", { class: "side" }, node("h5", {}, `${which}: `, name), drawText(drawn, marks, this.project));
    };
    const kinds = [...new Set(changes.map((one) => one.kind).filter((kind) => kind !== "kept"))].join(", ");
    return node(
      "article",
      { class: "card" },
      node("h4", {}, textLink(id, this.onOpen), `: ${kinds}`),
      node("div", { class: "sides" }, this.answer.old ? side("old") : "", side("new")),
    );
  }
}

/** An entity of one side, with how it changed. */
function mark(changed, which) {
  const named = (one) => one && { ...one, entity_group: one.entity_group ?? one.type };
  const { start, end, entity_group: type } = named(changed[which]);
  const note = changeNote({ kind: changed.kind, old: named(changed.old), new: named(changed.new) }, which);
  return { start, end, type, kind: changed.kind, note };
}

function score(f1) {
  return typeof f1 === "number" ? f1.toFixed(1) : "–";
}

/** Say how a score changed, and whether that means anything; a type that one side never learned is no drop. */
function change({ before, after, real, few }) {
  if (before === null) return after === null ? "–" : "new";
  if (after === null) return "not learned";
  const moved = signed(after - before);
  if (moved === "0.0" || (real && !few)) return moved;
  return `${moved} (${few ? "too few to judge" : "may be chance"})`;
}

function signed(points) {
  const rounded = Math.abs(points).toFixed(1);
  if (rounded === "0.0") return rounded;
  return `${points > 0 ? "+" : "−"}${rounded}`;
}
