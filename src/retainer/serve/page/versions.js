/** The served versions, and how each type is drawn: the same in every view, whichever version found it. */

import { nameNode, node, visible } from "./dom.js";
import { comesFrom, oldestFirst } from "./lineages.js";
import { get } from "./server.js";

export class Versions {
  constructor(all, styles) {
    this.styles = styles;
    this.take(all);
  }

  /** Know these versions from now on. */
  take(all) {
    this.all = all;
    this.oldestFirst = oldestFirst(all);
    const ofVersion = (version) => [...version.lineage].reverse().flatMap((step) => step.types);
    this.types = [...new Set(all.flatMap((version) => [...ofVersion(version), ...version.types]))];
  }

  /** Ask the server for its versions. */
  static async load() {
    const styles = await get("page/type_styles.json");
    return new Versions((await get("v1/versions")).versions, styles);
  }

  /** Return a version by name. */
  find(name) {
    return this.all.find((version) => version.name === name) ?? this.all[0];
  }

  /** Return one or two versions as old and new: by lineage or, if that says nothing, in the server's order. */
  inOrder(...pair) {
    const [first, last] = pair.sort((a, b) => this.all.indexOf(a) - this.all.indexOf(b));
    return last && comesFrom(first, last) ? [last, first] : [first, last];
  }

  /**
   * Return the versions to begin with, as old and new: the first one given that comes from others and that no other
   * comes from, and of those the oldest or, with `nearest`, the nearest. A single version has no old one.
   */
  startingPair(nearest) {
    const fresh = this.all.find(
      (one) => this.all.some((other) => comesFrom(one, other)) && !this.all.some((other) => comesFrom(other, one)),
    );
    const older = this.oldestFirst.filter((one) => (fresh ? comesFrom(fresh, one) : true));
    if (fresh) return [older.at(nearest ? -1 : 0), fresh];
    return older.length < 2 ? [null, older[0]] : this.inOrder(older.at(nearest ? -2 : 0), older.at(-1));
  }

  /** Say that the new version does not come from the old one, and why they are called so; nothing if it does. */
  orderNote(old, fresh) {
    if (old === fresh || comesFrom(fresh, old)) return [];
    const [one, other] = [nameNode(old.name), nameNode(fresh.name)];
    if (comesFrom(old, fresh)) return [one, " comes from ", other, ": the older version stands as the new one."];
    const given = this.inOrder(old, fresh)[0] === old;
    const why = given ? " new in the order of the server’s arguments." : " new as you chose.";
    return ["Neither version comes from the other: ", one, " is old and ", other, why];
  }

  /** Return the style of a type; types that no version knows come after the known ones. */
  style(type) {
    if (!this.types.includes(type)) this.types.push(type);
    return this.styles[this.types.indexOf(type) % this.styles.length];
  }

  /** Fill a select with the versions; `none` labels the choice of no version. */
  fill(select, chosen, none = null) {
    const options = this.all.map((version) => node("option", { value: version.name }, visible(version.name)));
    select.replaceChildren(...(none ? [node("option", { value: "" }, none)] : []), ...options);
    select.value = chosen ?? "";
  }
}
