/** Review: accept, correct or reject what versions propose for the texts of a file, mostly by keys. */

import { Text } from "./codepoints.js";
import { button, byId, nameNode, plural, visible } from "./dom.js";
import { reviewedLines, saveFile } from "./download.js";
import { readFile } from "./files.js";
import { propose, sorted, withoutGiven } from "./proposals.js";
import { drawItem } from "./review_item.js";
import { ReviewQueue } from "./review_queue.js";

const CONFIRM = "Your decisions are not downloaded yet and would be lost. Continue?";

export class Review {
  constructor(versions, notices) {
    this.versions = versions;
    this.notices = notices;
    this.queue = null;
    this.file = null;
    this.version = byId("review-version");
    this.second = byId("review-second");
    const [second, version] = versions.inOrder(...versions.oldestFirst.slice(-2));
    versions.fill(this.version, (version ?? second).name);
    versions.fill(this.second, version && second.name, "none");
    this.drawOrder();
    byId("review-file").addEventListener("change", (event) => {
      const [file] = event.target.files;
      event.target.value = "";
      if (file) this.open(file);
    });
    for (const select of [this.version, this.second]) this.restartOnChange(select);
    for (const [id, action] of Object.entries(this.buttons())) byId(id).addEventListener("click", action);
    byId("review-sure").addEventListener("click", () => this.acceptAgreed());
    byId("review-save").addEventListener("click", () => this.save());
    window.addEventListener("beforeunload", (event) => this.queue?.unsaved && event.preventDefault());
  }

  /** Start again when another version is chosen, unless that would lose work. */
  restartOnChange(select) {
    let before = select.value;
    select.addEventListener("change", () => {
      if (this.mayLeave()) this.start();
      else select.value = before;
      before = select.value;
      this.drawOrder();
    });
  }

  drawOrder() {
    const [version, second] = [this.version, this.second].map((select) => this.versions.find(select.value));
    byId("review-order").replaceChildren(...(this.second.value ? this.versions.orderNote(second, version) : []));
  }

  mayLeave() {
    return !this.queue?.unsaved || window.confirm(CONFIRM);
  }

  buttons() {
    const { keys } = this;
    return {
      "review-accept": keys.a,
      "review-reject": keys.r,
      "review-other": keys.s,
      "review-undo": keys.u,
      "review-next": keys.j,
      "review-previous": keys.k,
      "review-end-back": keys.ArrowLeft,
      "review-end-on": keys.ArrowRight,
      "review-start-back": keys["Shift+ArrowLeft"],
      "review-start-on": keys["Shift+ArrowRight"],
    };
  }

  /** The keys of this view. */
  get keys() {
    const types = Array.from({ length: 9 }, (_, at) => [
      String(at + 1),
      () => this.types[at] && this.apply((queue) => queue.retype(this.types[at]), "Type changed."),
    ]);
    return {
      a: () => this.apply((queue) => queue.accept(), "Accepted."),
      r: () => this.apply((queue) => queue.reject(), "Rejected."),
      s: () => this.apply((queue) => queue.swap(), "Reading swapped."),
      u: () => this.apply((queue) => queue.undo(), "Undone."),
      j: () => this.apply((queue) => queue.go(1)),
      k: () => this.apply((queue) => queue.go(-1)),
      ArrowRight: () => this.apply((queue) => queue.move("end", 1), "End moved."),
      ArrowLeft: () => this.apply((queue) => queue.move("end", -1), "End moved."),
      "Shift+ArrowRight": () => this.apply((queue) => queue.move("start", 1), "Start moved."),
      "Shift+ArrowLeft": () => this.apply((queue) => queue.move("start", -1), "Start moved."),
      ...Object.fromEntries(types),
    };
  }

  /** Read a file and start. */
  async open(file) {
    if (!this.mayLeave()) return;
    await this.notices.during("Reading the file …", async (current) => {
      const records = await readFile(file);
      if (!current()) return;
      this.file = { name: file.name, records };
      byId("review-file-shown").replaceChildren(nameNode(file.name), `: ${plural(records.length, "text")}`);
      await this.start();
    });
  }

  /** Ask the versions for proposals. */
  async start() {
    if (!this.file) return;
    const { records } = this.file;
    const version = this.versions.find(this.version.value);
    const same = !this.second.value || this.second.value === this.version.value;
    const second = same ? null : this.versions.find(this.second.value);
    this.queue = null;
    byId("review-item").hidden = true;
    await this.notices.during("Asking the server …", async (current) => {
      const onProgress = (done, all) =>
        current() && done && this.notices.report(`Asking the server: ${done} of ${all} texts …`);
      const proposals = await propose(records, version, second, onProgress);
      if (!current()) return;
      const items = sorted(withoutGiven(proposals, records));
      const texts = records.map((record) => new Text(record.plain));
      this.queue = new ReviewQueue(records, texts, items);
      const known = [...version.types, ...(second?.types ?? [])];
      this.types = [...new Set([...known, ...records.flatMap((one) => one.given.map((given) => given.type))])];
      this.drawTypes();
      byId("review-item").hidden = !items.length;
      if (!items.length) return this.notices.report("The version finds no entity that the file does not have already.");
      this.draw(`${plural(items.length, "entity", "entities")} to review, the most doubtful first.`);
      byId("review-accept").focus();
    });
  }

  drawTypes() {
    const buttons = this.types.map((type, at) => {
      const key = at < 9 ? String(at + 1) : null;
      const one = button("", () => this.apply((queue) => queue.retype(type), "Type changed."), {
        class: `c${this.versions.style(type).hue}`,
        "aria-keyshortcuts": key,
      });
      if (key) one.append(Object.assign(document.createElement("kbd"), { textContent: key }), " ");
      one.append(nameNode(type));
      one.dataset.type = type;
      return one;
    });
    byId("review-types").replaceChildren(...buttons);
  }

  /** Change the queue and report it, or report why it cannot be changed. */
  apply(change, message = "") {
    if (!this.queue?.items.length) return;
    try {
      const result = change(this.queue);
      this.draw(typeof result === "string" ? result : message);
    } catch (error) {
      this.notices.reportError(error);
    }
  }

  acceptAgreed() {
    const threshold = Number(byId("review-least").value);
    this.apply((queue) => `${plural(queue.acceptAgreed(threshold), "entity", "entities")} accepted.`);
  }

  draw(message = "") {
    const { queue } = this;
    if (!queue?.items.length) return;
    drawItem(queue, this.versions, (at) => this.apply((one) => (one.at = at)));
    const { open, accepted, corrected, rejected } = queue.counts();
    byId("review-counts").textContent =
      `${accepted} accepted, ${corrected} corrected, ${rejected} rejected, ${open} left`;
    const { item } = queue;
    const words = visible(queue.texts[item.text].slice(item.start, item.end));
    const current = [words, visible(item.type), item.reason].filter(Boolean).join(", ");
    this.notices.report(
      [message, open ? "" : "Everything is decided: download it.", `Current: ${current}.`].filter(Boolean).join(" "),
    );
  }

  save() {
    const { content, texts, entities, heldBack } = reviewedLines(this.queue);
    const held = heldBack ? `${plural(heldBack, "text")} with something still to decide held back. ` : "";
    if (!texts) {
      return this.notices.report(`${held}There is nothing to download yet: decide about all entities of a text first.`);
    }
    saveFile(content, `${this.file.name.replace(/\.[^.]*$/, "")}.reviewed.jsonl`);
    this.queue.unsaved = heldBack > 0;
    this.notices.report(
      `${plural(texts, "text")} with ${plural(entities, "entity", "entities")} downloaded. ${held}` +
        "retainer check and retainer learn read the file.",
    );
  }
}
