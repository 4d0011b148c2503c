/** Asks now and then what others changed in the project. */

import { visible } from "./dom.js";

const SECONDS = 3;
const REFRESH_EVERY = 5;
/** Versions and jobs are no changes of texts: they are asked for more rarely. */

export class ChangeWatch {
  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.workbench = workbench;
    this.last = workbench.project.newestChange;
    setInterval(() => this.look(), SECONDS * 1000);
    document.addEventListener("visibilitychange", () => this.look());
  }

  /** Ask; a server that does not answer says nothing about that. */
  async look() {
    const { project, look, list, isVisible } = this.workbench;
    if (document.hidden || !isVisible() || this.asking) return;
    this.asking = true;
    try {
      const { changes, last } = await project.changes(this.last);
      this.turn = (this.turn ?? 0) + 1;
      if (changes.length || this.turn % REFRESH_EVERY === 0) await project.refresh();
      for (const id of new Set(changes.map((change) => change.text))) await this.see(id, changes, look, list);
      this.last = last; // what could not be shown is asked for again
    } catch {
      // the next request of the person says what is wrong
    } finally {
      this.asking = false;
    }
  }

  /** See which texts are shown once what was begun here is done: it may be opening this one as it was before. */
  async see(id, changes, look, list) {
    await look.last;
    const change = changes.findLast((one) => one.text === id);
    const isOpen = look.sheet?.id === id && change.revision > look.sheet.stored.revision;
    if (!isOpen && !list.has(id)) return;
    const item = await this.workbench.project.text(id);
    list.update(item);
    if (isOpen) await look.act(() => this.show(item, change, look));
  }

  /** Show what another person said about the text that is open, once what was begun here is done. */
  show(item, change, look) {
    const { sheet } = look;
    if (sheet?.id !== item.id || item.revision <= sheet.stored.revision) return;
    if (sheet.isChanged) look.conflict.showBoth(item);
    else if (!look.conflict.isVisible) {
      look.show(item, `${visible(change.who)} changed this text; you see it as it is now.`);
    }
  }
}
