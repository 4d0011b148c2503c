/** The workbench: look and correct, teach, compare, put into use; its parts, one of which is visible. */

import { AddTexts } from "./add_texts.js";
import { ChangeWatch } from "./change_watch.js";
import { byId, nameNode, plural, visible } from "./dom.js";
import { Look } from "./look.js";
import { changePerson, person } from "./person.js";
import { Project } from "./project.js";
import { ProjectCompare } from "./project_compare.js";
import { ProjectVersions } from "./project_versions.js";
import { RemoveText } from "./remove_text.js";
import { Teach } from "./teach.js";
import { TextsList } from "./texts_list.js";
import { TypeEditor } from "./type_editor.js";

const PARTS = ["look", "teach", "against", "history"];

export class Workbench {
  /** @param {() => Promise<void>} onUse called when another version is in use */
  constructor(notices, onUse) {
    this.notices = notices;
    const project = (this.project = new Project(person));
    this.list = new TextsList(project, notices, (id) => this.look.act(() => this.look.open(id)));
    this.look = new Look(
      project,
      notices,
      (item) => this.saved(item),
      (id) => this.list.mark(id),
    );
    new TypeEditor(project, notices, this.look);
    new RemoveText(project, notices, this.look, () => this.removed());
    this.adding = new AddTexts(project, notices, () => this.added());
    this.onUse = onUse;
    const open = (id) => this.openText(id);
    this.versions = new ProjectVersions(project, notices, {
      onUse: () => project.refresh(),
      onLook: (name) => this.lookThrough(name),
      onOpen: open,
    });
    this.against = new ProjectCompare(project, notices, (name) => this.versions.use(name), open);
    this.teach = new Teach(project, notices, (version) => this.taught(version), open);
    byId("bench-rename").addEventListener("click", () => changePerson());
    project.onChange(() => this.draw());
  }

  /** Ask for the project, and show the first text. */
  async load() {
    await this.project.refresh();
    this.watch = new ChangeWatch(this);
    this.list.start();
    await this.look.act(() => this.look.next());
  }

  /** The part in the address. */
  get part() {
    const [, wanted] = location.hash.slice(1).split("/");
    return PARTS.includes(wanted) ? wanted : "look";
  }

  isVisible() {
    return !byId("workbench").hidden;
  }

  get keys() {
    return this.part === "look" ? this.look.keys : {};
  }

  /** Show the part that the address names. */
  showPart() {
    for (const part of PARTS) byId(`part-${part}`).hidden = part !== this.part;
    for (const link of byId("bench-parts").querySelectorAll("a")) {
      const current = link.hash === `#workbench/${this.part}`;
      if (current) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    }
    this.versions.visible = false;
    if (this.part === "look") this.list.show();
    if (this.part === "teach") this.teach.show();
    if (this.part === "history") this.notices.during("", () => this.versions.show());
  }

  /** Look through a version again, beside the one in use. */
  lookThrough(name) {
    location.hash = "#workbench/against";
    this.against.look(name);
  }

  /** Open a text that another part names. */
  openText(id) {
    location.hash = "#workbench/look";
    this.look.act(() => this.look.open(id));
  }

  /** A file that is dropped adds its texts. */
  open(file) {
    this.adding.addFile(file);
  }

  draw() {
    const { folder, texts, in_use: used, job } = this.project;
    const counts = `${plural(texts.all, "text")}, ${texts.decided} decided, ${texts.held_back} held back. `;
    const inUse = used ? ["In use: ", nameNode(used), ". "] : ["No version is in use yet. "];
    if (this.used !== undefined && this.used !== used) {
      this.onUse().catch((error) => this.notices.reportError(error));
      this.look.renew();
    }
    this.used = used;
    byId("bench").classList.toggle("empty", !texts.all);
    byId("bench-facts").replaceChildren(nameNode(folder), `: ${counts}`, ...inUse, job ? "A job is running." : "");
  }

  saved(item) {
    this.list.update(item);
    this.project.refresh().catch((error) => this.notices.reportError(error));
  }

  async added() {
    await this.project.refresh();
    await this.list.start();
    if (!this.look.sheet) await this.look.act(() => this.look.next());
  }

  async removed() {
    await this.project.refresh();
    await this.list.start();
  }

  async taught(version) {
    await this.project.refresh();
    this.against.fill(version);
    const others = this.project.in_use ? "compare it with the one in use, or use it" : "look at its scores, or use it";
    this.notices.report(`${visible(version)} is ready: ${others}.`);
  }
}
