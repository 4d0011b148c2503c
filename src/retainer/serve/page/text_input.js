/** What is looked at in Find, Compare and Time travel: one text that was typed, or the texts of a file. */

import { Text } from "./codepoints.js";
import { readFile, required } from "./files.js";
import { amount, button, name, part } from "./dom.js";
import { Trouble } from "./notices.js";

export class Source {
  /** @param {() => void} changed called when there is something new to look at */
  constructor(notices, changed) {
    this.notices = notices;
    this.changed = changed;
    this.file = null;
    this.field = part("text");
    part("source-form").addEventListener("submit", (event) => {
      event.preventDefault();
      changed();
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        changed();
      }
    });
    part("file").addEventListener("change", (event) => {
      const [file] = event.target.files;
      event.target.value = "";
      if (file) this.take(file);
    });
  }

  /** Read a file and look at it. */
  async take(file) {
    await this.notices.during("Reading the file …", async (current) => {
      const records = await readFile(file);
      if (!current()) return;
      this.file = { name: file.name, texts: records.map((one) => new Text(one.plain)) };
      this.draw();
      this.changed();
    });
  }

  /** Return the texts, or say what is wrong with them. */
  texts() {
    if (this.file) return this.file.texts;
    const plain = this.field.value;
    if (!plain.trim()) throw new Trouble("There is no text yet: type or paste one, or choose a file.");
    return [new Text(required(plain, "The text"))];
  }

  draw() {
    const shown = part("file-shown");
    part("typed").hidden = this.file !== null;
    shown.hidden = this.file === null;
    if (!this.file) return shown.replaceChildren();
    const leave = button("Remove the file", () => {
      this.file = null;
      this.draw();
      this.field.focus();
    });
    shown.replaceChildren(name(this.file.name), `: ${amount(this.file.texts.length, "text")} `, leave);
    leave.focus();
  }
}
