/** How the text that is looked at is drawn: why it comes, what holds of it, its entities and what is complete in it. */

import { byId, nameNode, node, plural, visible } from "./dom.js";
import { drawItem } from "./review_item.js";
import { dateNode } from "./version_facts.js";

export class LookPanel {
  /** @param {import("./look.js").Look} look */
  constructor(look) {
    this.look = look;
  }

  /** Draw the sheet, and report what was done to it; null if that is not to be said. */
  draw(message) {
    const { sheet, project, marking, notices } = this.look;
    drawItem(sheet, project, (at) => this.look.apply((one) => one.goTo(at)), "look");
    byId("look-why").textContent = sheet.stored.why ?? "";
    byId("look-state").replaceChildren(...state(sheet));
    byId("look-rest").hidden = !sheet.open.length;
    this.drawComplete();
    marking.reset(sheet.wordsOf(0));
    byId("look-marked").hidden = true;
    if (message !== null) notices.report([message, currentText(sheet)].filter(Boolean).join(" "));
  }

  drawMarking() {
    const { marking, notices, sheet } = this.look;
    const { span } = marking;
    byId("look-marked").hidden = !span;
    if (!span) return notices.report("");
    const words = visible(sheet.texts[0].slice(span.start, span.end));
    byId("look-marked-words").textContent = `“${words}”`;
    return notices.report(`Chosen: “${words}”. Give it a type.`);
  }

  /** Say that the text has every entity of all types or, if it says so already, take it back. */
  toggle() {
    const types = this.look.project.typeNames;
    const complete = this.look.sheet?.completeness.of(0);
    this.set(types, !types.every((type) => complete?.has(type)));
  }

  /** Remember it for the texts that come, too. */
  set(types, wanted) {
    for (const type of types) this.look.unticked[wanted ? "delete" : "add"](type);
    const names = types.length > 1 ? "all types" : visible(types[0] ?? "");
    this.look.apply(
      (sheet) => sheet.say(types, wanted),
      wanted ? `Complete for ${names}.` : `Not complete for ${names}.`,
    );
  }

  drawComplete() {
    const { sheet, project } = this.look;
    const complete = sheet.completeness.of(0);
    const boxes = project.typeNames.map((type) => {
      const box = node("input", { type: "checkbox", checked: complete.has(type) });
      box.addEventListener("change", () => this.set([type], box.checked));
      const chip = node("span", { class: "chip" }, nameNode(type));
      return node("label", { class: `type c${project.style(type).hue}` }, box, chip);
    });
    const place = byId("look-complete-types");
    const focused = [...place.querySelectorAll("input")].indexOf(document.activeElement);
    place.replaceChildren(...boxes);
    boxes[focused]?.querySelector("input").focus();
    byId("look-complete").hidden = !boxes.length;
  }
}

/** Say what holds of a text, and since when. */
function state(sheet) {
  const { id, source, held_back: heldBack, annotation, who, when } = sheet.stored;
  const from = source ? [" from ", nameNode(source)] : [];
  const held = heldBack ? ", held back to compare versions on" : "";
  const said = annotation.decided ? "decided" : "changed";
  const by = who ? [`, ${said} by `, nameNode(who), " ", when ? dateNode(when) : ""] : [", not looked at yet"];
  return [`Text ${id}`, ...from, held, ...by, sheet.isChanged ? ". Not saved yet." : "."];
}

/** Say what a decision has saved, and for which types it teaches what is not an entity. */
export function decidedText({ entities, complete }, types) {
  const saved = `Saved: ${plural(entities.length, "entity", "entities")}, decided`;
  const left = types.filter((type) => !complete.includes(type)).map(visible);
  if (!left.length) return `${saved}.`;
  if (complete.length) return `${saved}, not complete for ${left.join(", ")}.`;
  return `${saved}. It is complete for no type, so it teaches what is marked, not that nothing else is there.`;
}

/** Say where the person is. */
function currentText({ item, open, texts }) {
  if (!item) return "";
  const words = visible(texts[0].slice(item.start, item.end));
  const left = open.length ? ` ${plural(open.length, "proposal")} left.` : "";
  return `Current: ${words}, ${visible(item.type)}.${left}`;
}
