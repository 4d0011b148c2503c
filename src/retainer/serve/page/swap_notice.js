/** Says that a version was replaced while the page was open: what the page knows of it is no longer true. */

import { button, byId, nameNode } from "./dom.js";
import { servedNow, watchAnswers } from "./server.js";

const SECONDS = 10;
/** How often the page asks while it is visible; every answer to a request tells it too. */

export class SwapNotice {
  /** @param {import("./versions.js").Versions} versions as the page knows them */
  constructor(versions) {
    this.versions = versions;
    this.replaced = new Set();
    watchAnswers(({ version, old, new: fresh }) => this.compare([version, old, fresh].filter(Boolean)));
    document.addEventListener("visibilitychange", () => this.look());
    setInterval(() => this.look(), SECONDS * 1000);
  }

  /** Ask which versions are served now; a server that does not answer says nothing about that. */
  async look() {
    if (!document.hidden) this.compare(await servedNow());
  }

  compare(references) {
    const before = this.replaced.size;
    for (const { name, hash } of references) {
      const known = this.versions.all.find((version) => version.name === name);
      if (known && known.hash !== hash) this.replaced.add(name);
    }
    if (this.replaced.size > before) this.draw();
  }

  draw() {
    const names = [...this.replaced].flatMap((name, at) => [at ? ", " : "", nameNode(name)]);
    byId("swapped").replaceChildren(
      ...names,
      ` ${this.replaced.size > 1 ? "were" : "was"} replaced while this page was open. `,
      "Types, records and scores on this page are those from before. ",
      button("Reload the page", () => location.reload()),
    );
    byId("swapped").hidden = false;
  }
}
