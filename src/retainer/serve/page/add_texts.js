/** New texts for the project: typed, one per line, or those of a file. */

import { byId, plural, visible } from "./dom.js";
import { UserError } from "./errors.js";
import { readFile, requireText } from "./files.js";

export class AddTexts {
  /** @param {() => Promise<void>} onAdded */
  constructor(project, notices, onAdded) {
    Object.assign(this, { project, notices, onAdded });
    byId("add-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.addTyped();
    });
    byId("add-file").addEventListener("change", (event) => {
      const [file] = event.target.files;
      event.target.value = "";
      if (file) this.addFile(file);
    });
  }

  addTyped() {
    return this.notices.during("Adding the texts …", async () => {
      const lines = byId("add-text").value.split("\n");
      const texts = lines.map((line, at) => requireText(line, `Line ${at + 1}`)).filter((line) => line.trim());
      if (!texts.length) throw new UserError("There is no text yet: type or paste one, or choose a file.");
      await this.add(texts, undefined, "");
      byId("add-text").value = "";
    });
  }

  /** Add the texts of a file; what is annotated in it is left to the command line, which takes every format. */
  addFile(file) {
    return this.notices.during("Reading the file …", async () => {
      const records = await readFile(file, true);
      const texts = records.map((record) => record.plain).filter((text) => text.trim());
      const annotated = records.some((record) => record.given.length || record.complete.length);
      const note = annotated ? " Its annotations are left out: “retainer project import” takes them too." : "";
      await this.add(texts, file.name, note);
    });
  }

  async add(texts, source, note) {
    const onProgress = (done) => this.notices.report(`Adding: ${done} of ${texts.length} texts …`);
    const sum = await this.project.addTexts(texts, source, onProgress);
    await this.onAdded();
    byId("add-details").open = false;
    const known = sum.known ? `, ${sum.known} were there already` : "";
    const from = source ? ` from ${visible(source)}` : "";
    this.notices.report(`${plural(sum.new, "text")} added${from}${known}.${note}`);
  }
}
