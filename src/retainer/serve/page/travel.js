/** Time travel: the same text, seen by one version of a lineage after the other. */

import { drawCurves, drawLegend } from "./curves.js";
import { byId, nameNode, node, plural, visible } from "./dom.js";
import { drawText, scoreText } from "./entities.js";
import { lineagesOf, scoreLines } from "./lineages.js";
import { PagedList } from "./paged_list.js";
import { postAll } from "./server.js";
import { drawVersionFacts } from "./version_facts.js";

const UNSCORED = "This lineage records no scores: learn with --dev to record them.";

export class Travel {
  constructor(versions, notices) {
    this.versions = versions;
    this.notices = notices;
    this.texts = [];
    this.cache = new Map();
    this.list = new PagedList(byId("travel-results"), (item) => this.card(item));
    this.slider = byId("travel-slider");
    this.select = byId("travel-lineage");
    this.select.addEventListener("change", () => this.choose());
    this.slider.addEventListener("input", () => this.show());
    byId("travel-back").addEventListener("click", () => this.move(-1));
    byId("travel-on").addEventListener("click", () => this.move(1));
    this.onVersions();
  }

  /** Offer the lineages of the versions that are served now. */
  onVersions() {
    this.lineages = lineagesOf(this.versions.all);
    this.select.replaceChildren(
      ...this.lineages.map((lineage, at) => node("option", { value: at }, `up to ${visible(lineage.name)}`)),
    );
    byId("travel-lineage-label").hidden = this.lineages.length < 2;
    this.choose();
  }

  /** The keys of this view. */
  get keys() {
    return { ArrowLeft: () => this.move(-1), ArrowRight: () => this.move(1) };
  }

  get lineage() {
    return this.lineages[Number(this.select.value)];
  }

  /** The versions of the lineage that are served here. */
  get served() {
    return this.lineage.steps.filter((step) => step.served_as !== null);
  }

  get current() {
    return this.served[Number(this.slider.value)];
  }

  choose() {
    this.slider.max = String(this.served.length - 1);
    this.slider.value = this.slider.max;
    this.slider.disabled = this.served.length < 2;
    const absent = this.lineage.steps.length - this.served.length;
    byId("travel-absent").textContent = absent
      ? `${plural(absent, "version")} of this lineage ${absent === 1 ? "is" : "are"} not served here.`
      : "";
    this.show();
  }

  move(step) {
    this.slider.value = String(Number(this.slider.value) + step);
    this.show();
  }

  /** Show these texts; each version is asked when it is first shown. */
  async run(texts) {
    this.texts = texts;
    this.cache.clear();
    await this.show();
  }

  async show() {
    const { current: shown } = this;
    const { steps } = this.lineage;
    const at = steps.indexOf(shown);
    this.slider.setAttribute("aria-valuetext", `${visible(shown.served_as)}, ${visible(shown.what)}`);
    byId("travel-back").disabled = this.slider.value === "0";
    byId("travel-on").disabled = this.slider.value === this.slider.max;
    byId("travel-step").replaceChildren(...drawVersionFacts(shown, steps.length));
    this.drawCurves(at);
    if (!this.texts.length) return;
    await this.notices.during("Asking the server …", async (current) => {
      const entities = await this.entitiesOf(shown.served_as);
      if (!current()) return;
      const count = entities.flat().length;
      this.notices.report(
        `${visible(shown.served_as)}, version ${at + 1} of ${steps.length}: ` +
          `${plural(count, "entity", "entities")} in ${plural(this.texts.length, "text")}.`,
      );
      this.list.show(
        this.texts.map((text, index) => ({ text, index, entities: entities[index] })),
        true,
      );
    });
  }

  /** Ask a version once. */
  async entitiesOf(version) {
    if (!this.cache.has(version)) {
      const responses = await postAll(
        "v1/predict",
        { version },
        this.texts.map((text) => text.plain),
      );
      this.cache.set(
        version,
        responses.flatMap((response) => response.results.map((result) => result.entities)),
      );
    }
    return this.cache.get(version);
  }

  drawCurves(at) {
    const { steps } = this.lineage;
    const lines = scoreLines(steps);
    const names = steps.map((step) => step.served_as ?? `#${step.number}`);
    const place = byId("travel-curves");
    if (!lines.length) return place.replaceChildren(node("p", { class: "muted" }, UNSCORED));
    const legend = drawLegend(lines, names, this.versions);
    place.replaceChildren(drawCurves(lines, names, at, this.versions), legend, this.table(lines, names));
  }

  /** The curves as a table, for screen readers and exact values. */
  table(lines, names) {
    const head = node(
      "tr",
      {},
      node("th", { scope: "col" }, "F1"),
      names.map((one) => node("th", { scope: "col" }, nameNode(one))),
    );
    const rows = lines.map((line) => {
      const by = new Map(line.points);
      const fields = names.map((_, at) => node("td", {}, by.has(at) ? by.get(at).toFixed(1) : "–"));
      return node("tr", {}, node("th", { scope: "row" }, nameNode(line.type)), fields);
    });
    const table = node("table", {}, node("thead", {}, head), node("tbody", {}, rows));
    const scroll = node(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "F1 per type and version" },
      table,
    );
    return node("details", {}, node("summary", {}, "The curves as a table"), scroll);
  }

  card({ text, index, entities }) {
    const marks = entities.map((one) => ({
      start: one.start,
      end: one.end,
      type: one.entity_group,
      kind: this.current.gained.includes(one.entity_group) ? "fresh" : "",
      note: this.current.gained.includes(one.entity_group) && this.lineage.steps.indexOf(this.current) ? "new" : "",
      tip: scoreText(one.score, false),
    }));
    const title = this.texts.length > 1 ? node("h3", {}, `Text ${index + 1}`) : null;
    return node("article", { class: "card" }, title, drawText(text, marks, this.versions));
  }
}
