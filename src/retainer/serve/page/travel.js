/** Time travel: the text stays, the versions of a lineage go by. */

import { chainsOf, linesOf } from "./lineages.js";
import { drawCurves } from "./curves.js";
import { drawText, scored } from "./entities.js";
import { amount, name, node, part, spelled } from "./dom.js";
import { Pages } from "./paged_list.js";
import { postAll } from "./server.js";
import { drawStep } from "./version_facts.js";

export class Travel {
  constructor(roster, notices) {
    this.roster = roster;
    this.notices = notices;
    this.chains = chainsOf(roster.versions);
    this.texts = [];
    this.kept = new Map();
    this.pages = new Pages(part("travel-results"), (item) => this.card(item));
    this.slider = part("travel-slider");
    this.select = part("travel-chain");
    this.select.replaceChildren(
      ...this.chains.map((one, at) => node("option", { value: at }, `up to ${spelled(one.name)}`)),
    );
    part("travel-chain-label").hidden = this.chains.length < 2;
    this.select.addEventListener("change", () => this.choose());
    this.slider.addEventListener("input", () => this.go());
    part("travel-back").addEventListener("click", () => this.step(-1));
    part("travel-on").addEventListener("click", () => this.step(1));
    this.choose();
  }

  /** What the keys do here, wherever one stands in this view. */
  get keys() {
    return { ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1) };
  }

  get chain() {
    return this.chains[Number(this.select.value)];
  }

  /** The steps that can be asked: the versions on duty. */
  get stops() {
    return this.chain.steps.filter((step) => step.served_as !== null);
  }

  get stop() {
    return this.stops[Number(this.slider.value)];
  }

  choose() {
    this.slider.max = String(this.stops.length - 1);
    this.slider.value = this.slider.max;
    this.slider.disabled = this.stops.length < 2;
    const absent = this.chain.steps.length - this.stops.length;
    part("travel-absent").textContent = absent
      ? `${amount(absent, "version")} of this lineage ${absent === 1 ? "is" : "are"} not on duty here.`
      : "";
    this.go();
  }

  step(by) {
    this.slider.value = String(Number(this.slider.value) + by);
    this.go();
  }

  /** Look at the texts; versions are asked when one comes to them. */
  async run(texts) {
    this.texts = texts;
    this.kept.clear();
    await this.go();
  }

  async go() {
    const { stop } = this;
    const { steps } = this.chain;
    const at = steps.indexOf(stop);
    this.slider.setAttribute("aria-valuetext", `${spelled(stop.served_as)}, ${spelled(stop.what)}`);
    part("travel-back").disabled = this.slider.value === "0";
    part("travel-on").disabled = this.slider.value === this.slider.max;
    part("travel-step").replaceChildren(...drawStep(stop, steps.length));
    this.drawCurves(at);
    if (!this.texts.length) return;
    await this.notices.during("Asking the server …", async (current) => {
      const found = await this.found(stop.served_as);
      if (!current()) return;
      const count = found.flat().length;
      this.notices.tell(
        `${spelled(stop.served_as)}, version ${at + 1} of ${steps.length}: ` +
          `${amount(count, "entity", "entities")} in ${amount(this.texts.length, "text")}.`,
      );
      this.pages.show(
        this.texts.map((text, index) => ({ text, index, found: found[index] })),
        true,
      );
    });
  }

  /** Ask a version once. */
  async found(version) {
    if (!this.kept.has(version)) {
      const answers = await postAll(
        "v1/predict",
        { version },
        this.texts.map((one) => one.plain),
      );
      this.kept.set(
        version,
        answers.flatMap((one) => one.results.map((result) => result.entities)),
      );
    }
    return this.kept.get(version);
  }

  drawCurves(at) {
    const { steps } = this.chain;
    const lines = linesOf(steps);
    const names = steps.map((step) => step.served_as ?? `${step.number}`);
    part("travel-curves").replaceChildren(
      lines.length
        ? drawCurves(lines, names, at, this.roster)
        : node("p", { class: "muted" }, "No scores are recorded in this lineage: learn with --dev to have some."),
      ...(lines.length ? [this.table(lines, names)] : []),
    );
  }

  /** The same as numbers, for whoever does not see the drawing. */
  table(lines, names) {
    const head = node(
      "tr",
      {},
      node("th", { scope: "col" }, "F1"),
      names.map((one) => node("th", { scope: "col" }, name(one))),
    );
    const rows = lines.map((line) => {
      const by = new Map(line.points);
      const fields = names.map((_, at) => node("td", {}, by.has(at) ? by.get(at).toFixed(1) : "–"));
      return node("tr", {}, node("th", { scope: "row" }, name(line.type)), fields);
    });
    const table = node("table", {}, node("thead", {}, head), node("tbody", {}, rows));
    const scroll = node(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "F1 per type and version" },
      table,
    );
    return node("details", {}, node("summary", {}, "The curves as numbers"), scroll);
  }

  card({ text, index, found }) {
    const marks = found.map((one) => ({
      start: one.start,
      end: one.end,
      type: one.entity_group,
      kind: this.stop.gained.includes(one.entity_group) ? "fresh" : "",
      note: this.stop.gained.includes(one.entity_group) && this.chain.steps.indexOf(this.stop) ? "new" : "",
      tip: scored(one.score, false),
    }));
    const label = this.texts.length > 1 ? node("h3", {}, `Text ${index + 1}`) : null;
    return node("article", { class: "card" }, label, drawText(text, marks, this.roster));
  }
}
