/** Compare: two versions side by side, with the change of every entity in words. */

import { byId, nameNode, node, plural, visible } from "./dom.js";
import { drawText, scoreText } from "./entities.js";
import { UserError } from "./errors.js";
import { PagedList } from "./paged_list.js";
import { postAll } from "./server.js";

export const KINDS = ["kept", "moved", "relabelled", "lost", "gained"];

/** Say how an entity changed, on one side. */
export function changeNote(change, side) {
  if (change.kind === "relabelled")
    return side === "old" ? `now ${visible(change.new.entity_group)}` : `was ${visible(change.old.entity_group)}`;
  return change.kind === "kept" ? "" : change.kind;
}

export class Compare {
  constructor(versions, notices) {
    this.versions = versions;
    this.notices = notices;
    this.texts = [];
    this.at = -1;
    this.list = new PagedList(byId("compare-results"), (item) => this.card(item));
    this.old = byId("compare-old");
    this.new = byId("compare-new");
    this.onVersions();
    for (const select of [this.old, this.new])
      select.addEventListener("change", () => {
        this.drawOrder();
        if (this.texts.length) this.run(this.texts);
      });
    byId("compare-only").addEventListener("change", () => this.texts.length && this.draw());
    byId("compare-next").addEventListener("click", () => this.jump(1));
    byId("compare-previous").addEventListener("click", () => this.jump(-1));
  }

  /** Offer the versions that are served now. */
  onVersions() {
    const [old, fresh] = this.versions.startingPair(false);
    this.versions.fill(this.old, (old ?? fresh).name);
    this.versions.fill(this.new, fresh.name);
    this.drawOrder();
  }

  /** What the keys do here. */
  get keys() {
    return { n: () => this.jump(1), p: () => this.jump(-1) };
  }

  drawOrder() {
    const [old, fresh] = [this.old, this.new].map((select) => this.versions.find(select.value));
    byId("compare-order").replaceChildren(...this.versions.orderNote(old, fresh));
  }

  /** Ask the server to compare the versions on these texts. */
  async run(texts) {
    this.texts = texts;
    await this.notices.during("Comparing …", async (current) => {
      if (this.old.value === this.new.value)
        throw new UserError(
          "A version does not differ from itself: choose two different ones. " +
            "If only one version is served, start the server with two: retainer serve OLD NEW.",
        );
      const onProgress = (done, all) =>
        current() && done && this.notices.report(`Comparing: ${done} of ${all} texts …`);
      const responses = await postAll(
        "v1/compare",
        { old: this.old.value, new: this.new.value },
        texts.map((text) => text.plain),
        onProgress,
      );
      if (!current()) return;
      this.results = responses.flatMap((response) => response.results.map((result) => result.changes));
      this.types = responses[0].types;
      this.draw();
    });
  }

  draw() {
    const counts = new Map(KINDS.map((kind) => [kind, 0]));
    for (const one of this.results.flat()) counts.set(one.kind, counts.get(one.kind) + 1);
    byId("compare-counts").replaceChildren(
      ...[...counts].map(([kind, count]) => node("li", { class: kind }, node("b", {}, String(count)), ` ${kind}`)),
    );
    byId("compare-types").replaceChildren(...this.typeNotes());
    let id = 0;
    const all = this.texts.map((text, at) => ({
      text,
      at,
      changes: this.results[at].map((one) => ({ ...one, id: one.kind === "kept" ? undefined : id++ })),
    }));
    const items = byId("compare-only").checked
      ? all.filter((one) => one.changes.some((change) => change.id !== undefined))
      : all;
    this.differences = items.flatMap((one, index) =>
      one.changes.filter((change) => change.id !== undefined).map((change) => ({ change, index })),
    );
    this.at = -1;
    for (const step of ["next", "previous"]) byId(`compare-${step}`).disabled = !this.differences.length;
    const message = this.differences.length
      ? `${plural(this.differences.length, "difference")} in ${plural(this.texts.length, "text")}.`
      : `No difference in ${plural(this.texts.length, "text")}.`;
    this.notices.report(message);
    this.list.show(items);
    byId("compare-answer").hidden = false;
  }

  /** Say which types only one side knows: their entities are all gained or lost, as they should be. */
  typeNotes() {
    const list = (types) => types.flatMap((type, at) => [at ? ", " : "", nameNode(type)]);
    const { gained, dropped } = this.types;
    return [
      ...(gained.length ? ["Only the new version knows ", ...list(gained), ". "] : []),
      ...(dropped.length ? ["Only the old version knows ", ...list(dropped), "."] : []),
    ];
  }

  /** Go to the next or previous difference; after the last comes the first. */
  jump(step) {
    const all = this.differences ?? [];
    if (!all.length) return;
    const from = this.at < 0 && step < 0 ? 0 : this.at;
    this.at = (from + step + all.length) % all.length;
    const { change, index } = all[this.at];
    this.list.reach(index);
    const container = byId("compare-results");
    for (const one of container.querySelectorAll(".current")) one.classList.remove("current");
    const marked = [...container.querySelectorAll(`[data-id="${change.id}"]`)];
    for (const one of marked) one.classList.add("current");
    marked.at(-1).focus({ preventScroll: true });
    marked.at(-1).scrollIntoView({ block: "center" });
    const word = visible((change.new ?? change.old).word);
    const type = visible((change.old ?? change.new).entity_group);
    const to = change.kind === "relabelled" ? `, ${changeNote(change, "old")}` : "";
    this.notices.report(`Difference ${this.at + 1} of ${all.length}: ${change.kind}, ${type}${to}: ${word}`);
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
          note: changeNote(one, which),
          tip: scoreText(one[which].score, false),
          id: one.id,
        }));
      return node(
        "div",
        { class: "side" },
        node("h4", {}, `${which}: `, nameNode(select.value)),
        drawText(text, marks, this.versions),
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
