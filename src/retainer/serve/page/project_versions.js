/** The versions of the project: which one is in use, what each was taught from; any can be used again. */

import { button, byId, nameNode, node, plural, textLink, visible } from "./dom.js";
import { get } from "./server.js";
import { dateNode } from "./version_facts.js";

const MOST_NAMED = 500;

export class ProjectVersions {
  /** @param {{ onUse: () => Promise<void>, onLook: (name: string) => void, onOpen: (id: number) => void }} callbacks */
  constructor(project, notices, callbacks) {
    Object.assign(this, { project, notices, ...callbacks });
    byId("history-back").addEventListener("click", () => this.back());
    project.onChange(() => this.visible && this.show());
  }

  /** Draw what holds now. */
  async show() {
    this.visible = true;
    const { uses, versions, back } = await get("v1/project/history");
    byId("history-back").disabled = !back;
    byId("history-none").hidden = versions.length > 0;
    byId("history-versions").replaceChildren(...[...versions].reverse().map((version) => this.card(version)));
    byId("history-uses-title").hidden = !uses.length;
    byId("history-uses").replaceChildren(
      ...uses.map(({ version, who, when }) =>
        node("li", {}, dateNode(when), ": ", nameNode(version), " by ", nameNode(who)),
      ),
    );
  }

  card(version) {
    const { name, parent, when, types, in_use: used, texts } = version;
    const from = parent ? ["from ", nameNode(parent), ", "] : [];
    const data = texts === null || texts === undefined ? "brought along" : `taught from ${plural(texts, "text")}`;
    const chips = types.map((type) => node("span", { class: `chip c${this.project.style(type).hue}` }, nameNode(type)));
    const use = button("Use this version", () => this.use(name), { "aria-label": `Use ${visible(name)}` });
    const look = button("Look through it", () => this.onLook(name), { "aria-label": `Look through ${visible(name)}` });
    return node(
      "li",
      { class: used ? "card used" : "card" },
      node("h4", {}, nameNode(name), used ? node("b", {}, " in use") : ""),
      node("p", { class: "muted" }, ...from, data, when ? [", ", dateNode(when)] : ""),
      node("p", { class: "chips" }, chips),
      node("div", { class: "row" }, used ? "" : [use, look]),
      texts ? this.taughtFrom(name) : "",
    );
  }

  /** The texts that a version was taught from, asked for when somebody wants to see them. */
  taughtFrom(name) {
    const place = node("p", { class: "texts-named" });
    const details = node("details", {}, node("summary", {}, "Texts it was taught from"), place);
    details.addEventListener("toggle", () => {
      if (details.open && !place.hasChildNodes()) this.notices.during("", () => this.drawTaught(name, place));
    });
    return details;
  }

  async drawTaught(name, place) {
    const { texts } = await get(`v1/project/taught?${new URLSearchParams({ version: name })}`);
    const links = texts.slice(0, MOST_NAMED).flatMap((id, at) => [at ? ", " : "", textLink(id, this.onOpen)]);
    const more = texts.length - MOST_NAMED;
    place.replaceChildren(...links, more > 0 ? ` and ${plural(more, "more", "more")}` : "");
  }

  use(version) {
    return this.swap("use", { version });
  }

  back() {
    return this.swap("back", {});
  }

  /** Let the server swap; it answers with the version before until the other one can. */
  swap(way, request) {
    return this.notices.during("Loading the version …", async () => {
      const answer = await this.project.change(way, request);
      await this.onUse();
      await this.show();
      this.notices.report(`${visible(answer.in_use)} is in use now.`);
    });
  }
}
