/** Review: what versions propose for the texts of a file is accepted, corrected or rejected, mostly by keys. */

import { Text } from "./codepoints.js";
import { drawDesk } from "./review_item.js";
import { readFile } from "./files.js";
import { amount, button, name, part, spelled } from "./dom.js";
import { besides, propose, sorted } from "./proposals.js";
import { Queue } from "./review_queue.js";
import { download, reviewed } from "./download.js";

const LEAVE = "Your decisions were not downloaded yet, and would be lost. Go on?";

export class Review {
  constructor(roster, notices) {
    this.roster = roster;
    this.notices = notices;
    this.queue = null;
    this.file = null;
    this.version = part("review-version");
    this.second = part("review-second");
    const { versions } = roster;
    roster.offer(this.version, versions.at(-1).name);
    roster.offer(this.second, versions.length > 1 ? versions.at(-2).name : "", "nobody");
    part("review-file").addEventListener("change", (event) => {
      const [file] = event.target.files;
      event.target.value = "";
      if (file) this.take(file);
    });
    for (const select of [this.version, this.second]) this.ask(select);
    for (const [id, act] of Object.entries(this.buttons())) part(id).addEventListener("click", act);
    part("review-sure").addEventListener("click", () => this.sure());
    part("review-save").addEventListener("click", () => this.save());
    window.addEventListener("beforeunload", (event) => this.queue?.dirty && event.preventDefault());
  }

  /** Ask again when another version is chosen, unless that would lose work. */
  ask(select) {
    let before = select.value;
    select.addEventListener("change", () => {
      if (this.mayLeave()) this.begin();
      else select.value = before;
      before = select.value;
    });
  }

  mayLeave() {
    return !this.queue?.dirty || window.confirm(LEAVE);
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

  /** What the keys do here. */
  get keys() {
    const types = Array.from({ length: 9 }, (_, at) => [
      String(at + 1),
      () => this.types[at] && this.act((queue) => queue.retype(this.types[at]), "Another type."),
    ]);
    return {
      a: () => this.act((queue) => queue.accept(), "Accepted."),
      r: () => this.act((queue) => queue.reject(), "Rejected."),
      s: () => this.act((queue) => queue.swap(), "The other reading."),
      u: () => this.act((queue) => queue.undo(), "Undone."),
      j: () => this.act((queue) => queue.go(1)),
      k: () => this.act((queue) => queue.go(-1)),
      ArrowRight: () => this.act((queue) => queue.move("end", 1), "End moved."),
      ArrowLeft: () => this.act((queue) => queue.move("end", -1), "End moved."),
      "Shift+ArrowRight": () => this.act((queue) => queue.move("start", 1), "Start moved."),
      "Shift+ArrowLeft": () => this.act((queue) => queue.move("start", -1), "Start moved."),
      ...Object.fromEntries(types),
    };
  }

  /** Read a file and begin. */
  async take(file) {
    if (!this.mayLeave()) return;
    await this.notices.during("Reading the file …", async (current) => {
      const records = await readFile(file);
      if (!current()) return;
      this.file = { name: file.name, records };
      part("review-file-shown").replaceChildren(name(file.name), `: ${amount(records.length, "text")}`);
      await this.begin();
    });
  }

  /** Ask the versions what they propose. */
  async begin() {
    if (!this.file) return;
    const { records } = this.file;
    const version = this.roster.find(this.version.value);
    const same = !this.second.value || this.second.value === this.version.value;
    const second = same ? null : this.roster.find(this.second.value);
    this.queue = null;
    part("review-desk").hidden = true;
    await this.notices.during("Asking the server …", async (current) => {
      const told = (done, all) =>
        current() && done && this.notices.tell(`Asking the server: ${done} of ${all} texts …`);
      const proposed = await propose(records, version, second, told);
      if (!current()) return;
      const items = sorted(besides(proposed, records));
      this.queue = new Queue(
        records,
        records.map((one) => new Text(one.plain)),
        items,
      );
      const known = [...version.types, ...(second?.types ?? [])];
      this.types = [...new Set([...known, ...records.flatMap((one) => one.given.map((given) => given.type))])];
      this.offerTypes();
      part("review-desk").hidden = !items.length;
      if (!items.length) return this.notices.tell("The version finds nothing in this file that is not in it already.");
      this.draw(`${amount(items.length, "entity", "entities")} to look at, the most doubtful first.`);
      part("review-accept").focus();
    });
  }

  offerTypes() {
    const made = this.types.map((type, at) => {
      const key = at < 9 ? String(at + 1) : null;
      const one = button("", () => this.act((queue) => queue.retype(type), "Another type."), {
        class: `c${this.roster.look(type).hue}`,
        "aria-keyshortcuts": key,
      });
      if (key) one.append(Object.assign(document.createElement("kbd"), { textContent: key }), " ");
      one.append(name(type));
      one.dataset.type = type;
      return one;
    });
    part("review-types").replaceChildren(...made);
  }

  /** Do something to the queue, and say so; what cannot be done is said too. */
  act(change, said = "") {
    if (!this.queue?.items.length) return;
    try {
      const more = change(this.queue);
      this.draw(typeof more === "string" ? more : said);
    } catch (error) {
      this.notices.complain(error);
    }
  }

  sure() {
    const least = Number(part("review-least").value);
    this.act((queue) => `${amount(queue.acceptSure(least), "entity", "entities")} accepted.`);
  }

  draw(said = "") {
    const { queue } = this;
    if (!queue?.items.length) return;
    drawDesk(queue, this.roster, (at) => this.act((one) => (one.at = at)));
    const { open, accepted, corrected, rejected } = queue.counts();
    part("review-counts").textContent =
      `${accepted} accepted, ${corrected} corrected, ${rejected} rejected, ${open} left`;
    const { item } = queue;
    const words = spelled(queue.texts[item.text].slice(item.start, item.end));
    const on = [words, spelled(item.type), item.reason].filter(Boolean).join(", ");
    this.notices.tell(
      [said, open ? "" : "All is decided: download it.", `On the desk: ${on}.`].filter(Boolean).join(" "),
    );
  }

  save() {
    const { content, texts, entities, waiting } = reviewed(this.queue);
    const held = waiting ? `${amount(waiting, "text")} with something still to decide held back. ` : "";
    if (!texts) {
      return this.notices.tell(`${held}There is nothing to download yet: decide about all entities of a text first.`);
    }
    download(content, `${this.file.name.replace(/\.[^.]*$/, "")}.reviewed.jsonl`);
    this.queue.dirty = waiting > 0;
    this.notices.tell(
      `${amount(texts, "text")} with ${amount(entities, "entity", "entities")} downloaded. ${held}` +
        "retainer check and retainer learn read the file.",
    );
  }
}
