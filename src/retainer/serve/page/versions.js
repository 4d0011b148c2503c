/** Who is on duty, and how each type looks: the same in every view, whatever version found it. */

import { node, spelled } from "./dom.js";
import { get } from "./server.js";

export class Roster {
  constructor(versions, looks) {
    this.versions = versions;
    this.looks = looks;
    this.types = [
      ...new Set(
        versions.flatMap((one) =>
          [...one.lineage]
            .reverse()
            .flatMap((step) => step.types)
            .concat(one.types),
        ),
      ),
    ];
  }

  /** Ask the server. */
  static async load() {
    const looks = await get("page/type_styles.json");
    return new Roster((await get("v1/versions")).versions, looks);
  }

  /** Return a version by name. */
  find(name) {
    return this.versions.find((one) => one.name === name) ?? this.versions[0];
  }

  /** Say how a type looks; one that no version knows comes after those that are known. */
  look(type) {
    if (!this.types.includes(type)) this.types.push(type);
    return this.looks[this.types.indexOf(type) % this.looks.length];
  }

  /** Offer the versions in a list to choose from. */
  offer(select, chosen, none = null) {
    const options = this.versions.map((one) => node("option", { value: one.name }, spelled(one.name)));
    select.replaceChildren(...(none ? [node("option", { value: "" }, none)] : []), ...options);
    select.value = chosen ?? "";
  }
}
