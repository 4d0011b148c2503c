/** The texts of Find, Compare and Time travel: those of typed lines, one each, or those of a file. */

import { Text } from "./codepoints.js";
import { button, byId, nameNode } from "./dom.js";
import { UserError } from "./errors.js";
import { countTexts, readInstead, requireCount, requireText } from "./files.js";

export class TextInput {
  /** @param {() => void} onChange called when there are new texts */
  constructor(notices, onChange) {
    this.notices = notices;
    this.onChange = onChange;
    this.file = null;
    this.field = byId("text");
    byId("source-form").addEventListener("submit", (event) => {
      event.preventDefault();
      onChange();
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        onChange();
      }
    });
    byId("file").addEventListener("change", (event) => {
      const [file] = event.target.files;
      event.target.value = "";
      if (file) this.open(file);
    });
  }

  /** Read a file and show its texts. */
  async open(file) {
    await this.notices.during("Reading the file …", async (current) => {
      const records = await readInstead(file, this.file?.name);
      if (!current()) return;
      this.file = { name: file.name, texts: records.map((record) => new Text(record.plain)) };
      this.draw();
      this.onChange();
    });
  }

  /** Return the texts, or say what is wrong with them. */
  texts() {
    if (this.file) return this.file.texts;
    const lines = this.field.value.split("\n").map((line, at) => [`Line ${at + 1}`, line]);
    const filled = lines.filter(([, line]) => line.trim());
    if (!filled.length) throw new UserError("There is no text yet: type or paste one, or choose a file.");
    requireCount(filled.length, "The field");
    return filled.map(([where, line]) => new Text(requireText(line, filled.length > 1 ? where : "The text")));
  }

  draw() {
    const shown = byId("file-shown");
    byId("typed").hidden = this.file !== null;
    shown.hidden = this.file === null;
    if (!this.file) return shown.replaceChildren();
    const remove = button("Remove the file", () => {
      this.file = null;
      this.draw();
      this.field.focus();
    });
    shown.replaceChildren(nameNode(this.file.name), `: ${countTexts(this.file.texts)} `, remove);
    remove.focus();
  }
}
