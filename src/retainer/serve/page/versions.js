/** The served versions, and how each type is drawn: the same in every view, whichever version found it. */

import { node, visible } from "./dom.js";
import { get } from "./server.js";

export class Versions {
  constructor(all, styles) {
    this.all = all;
    this.styles = styles;
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
