/** Compare: two versions side by side, and what became of every entity, in words. */

import { drawText, scored } from "./entities.js";
import { amount, name, node, part, spelled } from "./dom.js";
import { Pages } from "./paged_list.js";
import { postAll } from "./server.js";
import { Trouble } from "./notices.js";

export const KINDS = ["kept", "moved", "relabelled", "lost", "gained"];

/** Say what became of an entity, on one side. */
export function fate(change, side) {
  if (change.kind === "relabelled")
    return side === "old" ? `now ${spelled(change.new.entity_group)}` : `was ${spelled(change.old.entity_group)}`;
  return change.kind === "kept" ? "" : change.kind;
}

export class Compare {
  constructor(roster, notices) {
    this.roster = roster;
    this.notices = notices;
    this.texts = [];
    this.at = -1;
    this.pages = new Pages(part("compare-results"), (item) => this.card(item));
    this.old = part("compare-old");
    this.new = part("compare-new");
    const { versions } = roster;
    roster.offer(this.old, versions[0].name);
    roster.offer(this.new, versions.at(-1).name);
    for (const select of [this.old, this.new])
      select.addEventListener("change", () => this.texts.length && this.run(this.texts));
    part("compare-only").addEventListener("change", () => this.texts.length && this.draw());
    part("compare-next").addEventListener("click", () => this.jump(1));
    part("compare-previous").addEventListener("click", () => this.jump(-1));
  }

  /** What the keys do here. */
  get keys() {
    return { n: () => this.jump(1), p: () => this.jump(-1) };
  }

  /** Ask the server about these texts. */
  async run(texts) {
    this.texts = texts;
    await this.notices.during("Comparing …", async (current) => {
      if (this.old.value === this.new.value)
        throw new Trouble(
          "A version compared with itself is the same: choose two different ones. " +
            "With one version on duty, start the server with two: retainer serve OLD NEW.",
        );
      const told = (done, all) => current() && done && this.notices.tell(`Comparing: ${done} of ${all} texts …`);
      const question = { old: this.old.value, new: this.new.value };
      const answers = await postAll(
        "v1/compare",
        question,
        texts.map((one) => one.plain),
        told,
      );
      if (!current()) return;
      this.results = answers.flatMap((one) => one.results.map((result) => result.changes));
      this.types = answers[0].types;
      this.draw();
    });
  }

  draw() {
    const counts = new Map(KINDS.map((kind) => [kind, 0]));
    for (const one of this.results.flat()) counts.set(one.kind, counts.get(one.kind) + 1);
    part("compare-counts").replaceChildren(
      ...[...counts].map(([kind, count]) => node("li", { class: kind }, node("b", {}, String(count)), ` ${kind}`)),
    );
    part("compare-types").replaceChildren(...this.sayTypes());
    let id = 0;
    const all = this.texts.map((text, at) => ({
      text,
      at,
      changes: this.results[at].map((one) => ({ ...one, id: one.kind === "kept" ? undefined : id++ })),
    }));
    const items = part("compare-only").checked
      ? all.filter((one) => one.changes.some((change) => change.id !== undefined))
      : all;
    this.differences = items.flatMap((one, index) =>
      one.changes.filter((change) => change.id !== undefined).map((change) => ({ change, index })),
    );
    this.at = -1;
    for (const step of ["next", "previous"]) part(`compare-${step}`).disabled = !this.differences.length;
    const said = this.differences.length
      ? `${amount(this.differences.length, "difference")} in ${amount(this.texts.length, "text")}.`
      : `No difference in ${amount(this.texts.length, "text")}.`;
    this.notices.tell(said);
    this.pages.show(items);
    part("compare-answer").hidden = false;
  }

  /** Say which types only one side knows: there all is gained or lost, and nothing is wrong. */
  sayTypes() {
    const list = (types) => types.flatMap((type, at) => [at ? ", " : "", name(type)]);
    const { gained, dropped } = this.types;
    return [
      ...(gained.length ? ["Only the new version knows ", ...list(gained), ". "] : []),
      ...(dropped.length ? ["Only the old version knows ", ...list(dropped), "."] : []),
    ];
  }

  /** Go to the next difference, or the one before; after the last comes the first. */
  jump(step) {
    const all = this.differences ?? [];
    if (!all.length) return;
    const from = this.at < 0 && step < 0 ? 0 : this.at;
    this.at = (from + step + all.length) % all.length;
    const { change, index } = all[this.at];
    this.pages.reach(index);
    const place = part("compare-results");
    for (const one of place.querySelectorAll(".current")) one.classList.remove("current");
    const found = [...place.querySelectorAll(`[data-id="${change.id}"]`)];
    for (const one of found) one.classList.add("current");
    found.at(-1).focus({ preventScroll: true });
    found.at(-1).scrollIntoView({ block: "center" });
    const word = spelled((change.new ?? change.old).word);
    const type = spelled((change.old ?? change.new).entity_group);
    const to = change.kind === "relabelled" ? `, ${fate(change, "old")}` : "";
    this.notices.tell(`Difference ${this.at + 1} of ${all.length}: ${change.kind}, ${type}${to}: ${word}`);
  }

  card({ text, at, changes }) {
    const side = (which, select) => {
      const marks = changes
        .filter((one) => one[which])
        .map((one) => ({
          start: one[which].start,
          end: one[which].end,
          type: one[which].entity_group,
          kind: one.kind,
          note: fate(one, which),
          tip: scored(one[which].score, false),
          id: one.id,
        }));
      return node(
        "div",
        { class: "side" },
        node("h4", {}, `${which}: `, name(select.value)),
        drawText(text, marks, this.roster),
      );
    };
    const kinds =
      [...new Set(changes.filter((one) => one.kind !== "kept").map((one) => one.kind))].join(", ") || "no difference";
    return node(
      "article",
      { class: "card" },
      node("h3", {}, `Text ${at + 1} `, node("span", { class: "muted" }, kinds)),
      node("div", { class: "sides" }, side("old", this.old), side("new", this.new)),
    );
  }
}
