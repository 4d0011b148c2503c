/** Look and correct: one text after the other, the one that is worth most first; every decision is saved at once. */

import { ConflictPanel } from "./conflict_panel.js";
import { byId, visible } from "./dom.js";
import { Conflict } from "./errors.js";
import { LookPanel, decidedText } from "./look_panel.js";
import { Marking } from "./marking.js";
import { BUTTONS, lookKeys } from "./review_keys.js";
import { Sheet } from "./sheet.js";
import { TypeChoice } from "./type_choice.js";

const MOST_SKIPPED = 1000;
const REVERSED = {
  undo: (id) => `Undone: text ${id} is as it was.`,
  redo: (id) => `Done again: text ${id} is as you had left it.`,
};
const EMPTY = "There is no text yet: type some, or choose a file.";
const DONE = "There is no text left that nobody decided about. Add texts, open one of the list, or teach.";

export class Look {
  /** @param {(item: object) => void} onSaved @param {(id: number) => void} onShow called with the text that is open */
  constructor(project, notices, onSaved, onShow) {
    Object.assign(this, { project, notices, onSaved, onShow, sheet: null });
    this.trail = [];
    this.skipped = [];
    this.unticked = new Set();
    this.last = Promise.resolve();
    this.waiting = 0;
    this.choice = new TypeChoice(project, notices, (type) => this.choose(type), "look");
    this.panel = new LookPanel(this);
    this.completeness = this.panel;
    this.marking = new Marking(byId("look-text"), () => this.panel.drawMarking());
    this.conflict = new ConflictPanel(this);
    const buttons = { ...BUTTONS, "review-decide": "d", "review-rest": "D", "review-redo": "y" };
    for (const [id, key] of Object.entries(buttons))
      byId(id.replace("review", "look")).addEventListener("click", () => this.keys[key]?.());
    project.onChange(() => this.onTypes());
    window.addEventListener("beforeunload", (event) => this.sheet?.isChanged && event.preventDefault());
  }

  get keys() {
    return lookKeys(this);
  }

  /** Do one thing after the other: a key that is pressed while something is saved counts for what comes then. */
  act(work) {
    this.waiting += 1;
    this.last = this.last.then(work).catch((error) => this.fail(error));
    return this.last.finally(() => (this.waiting -= 1));
  }

  fail(error) {
    this.choice.offer(this.project.typeNames);
    if (error instanceof Conflict) this.conflict.show(error);
    else this.notices.reportError(error);
  }

  /** Show a text; `message` says how it came. */
  show(item, message = "") {
    this.conflict.hide();
    this.sheet = new Sheet(item, () => this.project.typeNames, this.unticked);
    this.choice.start(this.project.typeNames);
    byId("look-item").hidden = false;
    byId("look-none").hidden = true;
    this.draw(message);
    this.onShow(item.id);
  }

  /** Another version is in use: show what it finds, unless something is not saved yet. */
  renew() {
    return this.act(async () => {
      const { sheet } = this;
      if (sheet && !sheet.isChanged) this.show(await this.project.text(sheet.id), null);
    });
  }

  async open(id) {
    await this.leave();
    if (this.sheet) this.trail.push(this.sheet.id);
    this.show(await this.project.text(id));
    byId("look-title").scrollIntoView({ block: "nearest" });
  }

  async next(message = "") {
    await this.leave();
    if (this.sheet && !this.sheet.stored.annotation.decided) this.skipped.push(this.sheet.id);
    const item = await this.project.next(this.skipped.slice(-MOST_SKIPPED));
    if (item && this.sheet) this.trail.push(this.sheet.id);
    if (item) return this.show(item, message);
    if (!this.sheet) byId("look-none").hidden = false;
    byId("look-none").textContent = this.project.texts.all ? DONE : EMPTY;
    if (!this.project.texts.all) byId("add-details").open = true;
    else this.notices.report([message, DONE].filter(Boolean).join(" "));
  }

  async previous() {
    await this.leave();
    const id = this.trail.pop();
    if (id === undefined) return this.notices.report("This is the first text that you looked at.");
    this.show(await this.project.text(id));
  }

  /** Save what was done to the text before another one comes. */
  async leave() {
    const { sheet } = this;
    sheet?.remember();
    if (sheet?.isChanged) await this.save(sheet.decides);
  }

  async save(decided, revision = this.sheet.stored.revision) {
    const { sheet } = this;
    sheet.wanted = decided;
    const request = { id: sheet.id, revision, annotation: sheet.annotation(decided) };
    const item = await this.project.change("annotate", request);
    sheet.stored = { ...sheet.stored, ...item, why: sheet.stored.why };
    sheet.history = [];
    this.onSaved(item);
    return item;
  }

  async decide() {
    if (!this.sheet) return;
    const { annotation } = await this.save(true);
    await this.next(decidedText(annotation, this.project.typeNames));
  }

  async decideRest() {
    this.sheet?.acceptRest();
    await this.decide();
  }

  /** Take the last step back or, if all is saved, the last saved change. */
  undo() {
    return this.act(async () => {
      if (this.sheet?.isChanged) this.apply((sheet) => sheet.undo(), "Undone.", true);
      else await this.reverse("undo");
    });
  }

  async redo() {
    if (this.sheet?.undone.length) return this.apply((sheet) => sheet.redo(), "Done again.", true);
    await this.reverse("redo");
  }

  /** Let the server take a saved change back, or make it again. */
  async reverse(way, before = undefined) {
    const { item } = await this.project.change(way, { before });
    if (!item) this.conflict.hide();
    if (!item) return this.notices.report(`There is nothing ${before ? "before that " : ""}to ${way}.`);
    this.onSaved(item);
    return this.show(await this.project.text(item.id), REVERSED[way](item.id));
  }

  /** Change the sheet and report it, or report why it cannot be changed. */
  apply(change, message = "", now = false) {
    if (this.waiting && !now) return this.act(() => this.apply(change, message, true));
    if (!this.sheet) return undefined;
    try {
      const result = change(this.sheet);
      this.draw(typeof result === "string" ? result : message);
    } catch (error) {
      this.notices.reportError(error);
    }
    return undefined;
  }

  /** Give the chosen words a type or, if there are none, the current entity; a new type joins the project. */
  choose(type) {
    const { span } = this.marking;
    const give = (sheet) => (span ? sheet.mark(span, type) : sheet.retype(type));
    const message = span ? "Marked." : "Type changed.";
    if (this.project.typeNames.includes(type)) return this.apply(give, message);
    return this.act(async () => {
      this.sheet?.requireTypable(span);
      await this.project.changeType({ action: "add", name: type });
      this.apply(give, `${message} The type ${visible(type)} is new.`, true);
    });
  }

  /** Types were changed: a new one is ticked in a text that is not decided. */
  onTypes() {
    const known = JSON.stringify(this.project.types.map(({ name, colour }) => [name, colour]));
    if (!this.sheet || known === this.known) return;
    this.known = known;
    const names = this.project.typeNames;
    const fresh = names.filter((name) => !this.choice.first.has(name));
    if (!this.sheet.stored.annotation.decided) for (const name of fresh) this.sheet.completeness.of(0).add(name);
    this.choice.start(names);
    this.panel.draw(null);
  }

  beginMarking() {
    this.marking.begin(this.sheet?.item?.end ?? 0);
    byId("look-text").focus();
  }

  draw(message = "") {
    this.panel.draw(message);
  }
}
