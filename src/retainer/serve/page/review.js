/** Review: accept, correct or reject what versions propose for the texts of a file, and mark what they missed. */

import { Text } from "./codepoints.js";
import { CompletenessPanel } from "./completeness_panel.js";
import { byId, nameNode, plural, visible } from "./dom.js";
import { DownloadPanel } from "./download_panel.js";
import { countTexts, readInstead } from "./files.js";
import { countStates } from "./item_states.js";
import { Marking } from "./marking.js";
import { propose, sorted, withoutGiven } from "./proposals.js";
import { currentText, drawItem } from "./review_item.js";
import { BUTTONS, reviewKeys } from "./review_keys.js";
import { ReviewQueue } from "./review_queue.js";
import { TypeChoice } from "./type_choice.js";

const CONFIRM = "Your decisions are not downloaded yet and would be lost. Continue?";
const NOTHING = "The version finds no entity that the file does not have already: mark what it missed.";

export class Review {
  constructor(versions, notices) {
    this.versions = versions;
    this.notices = notices;
    this.queue = null;
    this.file = null;
    this.version = byId("review-version");
    this.second = byId("review-second");
    this.onVersions();
    byId("review-file").addEventListener("change", (event) => {
      const [file] = event.target.files;
      event.target.value = "";
      if (file) this.open(file);
    });
    for (const select of [this.version, this.second]) this.restartOnChange(select);
    this.choice = new TypeChoice(versions, notices, (type) => this.choose(type));
    this.completeness = new CompletenessPanel(this);
    this.download = new DownloadPanel(this);
    this.marking = new Marking(byId("review-text"), () => this.drawMarking());
    for (const [id, key] of Object.entries(BUTTONS)) byId(id).addEventListener("click", () => this.keys[key]?.());
    byId("review-sure").addEventListener("click", () => this.acceptAgreed());
    window.addEventListener("beforeunload", (event) => this.queue?.unsaved && event.preventDefault());
  }

  /** Offer the versions that are served now; a review that is under way keeps its own. */
  onVersions() {
    if (this.queue) return;
    const [second, version] = this.versions.startingPair(true);
    this.versions.fill(this.version, version.name);
    this.versions.fill(this.second, second?.name, "none");
    this.drawOrder();
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

  /** The keys of this view. */
  get keys() {
    return reviewKeys(this);
  }

  /** Read a file and start. */
  async open(file) {
    if (!this.mayLeave()) return;
    await this.notices.during("Reading the file …", async (current) => {
      const records = await readInstead(file, this.file?.name, true);
      if (!current()) return;
      const texts = records.map((record) => new Text(record.plain));
      this.file = { name: file.name, records, texts };
      byId("review-file-shown").replaceChildren(nameNode(file.name), `: ${countTexts(texts)}`);
      await this.start();
    });
  }

  /** Ask the versions for proposals. */
  async start() {
    if (!this.file) return;
    const { records, texts } = this.file;
    const version = this.versions.find(this.version.value);
    const same = !this.second.value || this.second.value === this.version.value;
    const second = same ? null : this.versions.find(this.second.value);
    this.queue = null;
    byId("review-item").hidden = true;
    byId("review-steps").hidden = true;
    await this.notices.during("Asking the server …", async (current) => {
      const onProgress = (done, all) =>
        current() && done && this.notices.report(`Asking the server: ${done} of ${all} texts …`);
      const proposals = await propose(records, version, second, onProgress);
      if (!current()) return;
      const items = sorted(withoutGiven(proposals, records));
      const inFile = records.flatMap((one) => [...one.given.map((given) => given.type), ...one.complete]);
      this.choice.start([...version.types, ...(second?.types ?? []), ...inFile]);
      this.queue = new ReviewQueue(records, texts, items, () => this.choice.types);
      byId("review-item").hidden = false;
      const count = plural(items.length, "entity", "entities");
      this.draw(items.length ? `${count} to review, the most doubtful first.` : NOTHING);
      byId("review-accept").focus();
    });
  }

  /** Give the chosen words a type or, if there are none, the current entity; return whether that was done. */
  choose(type) {
    const { span } = this.marking;
    if (span) return this.apply((queue) => queue.mark(span, type), "Marked.");
    return this.apply((queue) => queue.retype(type), "Type changed.");
  }

  beginMarking() {
    if (!this.queue) return;
    const { item } = this.queue;
    this.marking.begin(item ? item.end : 0);
    byId("review-text").focus();
  }

  drawMarking() {
    const { span } = this.marking;
    byId("review-marked").hidden = !span;
    if (!span) return this.notices.report("");
    const words = visible(this.queue.texts[this.queue.text].slice(span.start, span.end));
    byId("review-marked-words").textContent = `“${words}”`;
    this.notices.report(`Chosen: “${words}”. Give it a type.`);
  }

  /** Change the queue and report it, or report why it cannot be changed; return whether it was. */
  apply(change, message = "") {
    if (!this.queue) return false;
    try {
      const result = change(this.queue);
      this.draw(typeof result === "string" ? result : message);
      return true;
    } catch (error) {
      this.notices.reportError(error);
      return false;
    }
  }

  /** Go to another text that may be out of sight: on a phone the lists stand below it. */
  show(change) {
    this.apply(change);
    const facts = byId("review-facts");
    facts.scrollIntoView({ block: "nearest" });
    const covered = byId("review-status").getBoundingClientRect().bottom - facts.getBoundingClientRect().top;
    if (covered > 0) scrollBy(0, -covered); // the status stays in view, and may have several lines
  }

  /** Take the last step back, and with it the name of a type that nothing has any more. */
  undo() {
    this.apply((queue) => {
      queue.undo();
      this.choice.forget((type) => !queue.uses(type));
      return "Undone.";
    });
  }

  acceptAgreed() {
    const threshold = Number(byId("review-least").value);
    this.apply((queue) => `${plural(queue.acceptAgreed(threshold), "entity", "entities")} accepted.`);
  }

  draw(message = "") {
    const { queue } = this;
    queue.completeness.look(queue.text);
    drawItem(queue, this.versions, (at) => this.show((one) => one.goTo(at)));
    this.completeness.draw();
    this.download.draw();
    this.marking.reset(queue.wordsOf(queue.text));
    byId("review-marked").hidden = true;
    const { open, accepted, corrected, added, rejected } = countStates(queue.items);
    const more = added ? `, ${added} added` : "";
    byId("review-counts").textContent =
      `${accepted} accepted, ${corrected} corrected${more}, ${rejected} rejected, ${open} left`;
    const done = queue.items.length && !open ? "Everything is decided: download it." : "";
    this.notices.report([message, done, currentText(queue)].filter(Boolean).join(" "));
  }
}
