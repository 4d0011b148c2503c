/** The current text of a review with all known entities, the current one among them, and the items around it. */

import { button, byId, nameNode, node, visible } from "./dom.js";
import { drawPassive } from "./entities.js";
import { stateOf } from "./item_states.js";
import { wordNodes } from "./marking.js";
import { overlap } from "./proposals.js";

const AROUND = 4;
/** Items listed before and after the current one. */

const STATES = {
  open: "?",
  accepted: "✓ accepted",
  corrected: "✓ corrected",
  added: "✓ added",
  rejected: "✗ rejected",
};
const NOTES = { ...STATES, accepted: "✓" };

/** Draw everything into a view; `goTo` makes the item with an index the current one. */
export function drawItem(queue, versions, goTo, view = "review") {
  const { item, text } = queue;
  const box = byId(`${view}-text`);
  const words = queue.wordsOf(text);
  const pieces = (start, end) => wordNodes(queue.texts[text], words, start, end);
  box.replaceChildren(drawPassive(queue.texts[text], marks(queue), versions, pieces));
  for (const one of box.querySelectorAll(".entity[data-id]"))
    one.addEventListener("click", () => Number(one.dataset.id) !== queue.at && goTo(Number(one.dataset.id)));
  byId(`${view}-facts`).replaceChildren(...facts(queue));
  byId(`${view}-list`).replaceChildren(...neighbours(queue, versions, goTo));
  byId(`${view}-other`).hidden = !item?.other;
  for (const one of byId(`${view}-types`).querySelectorAll("button"))
    one.setAttribute("aria-pressed", String(one.dataset.type === item?.type));
  const current = box.querySelector(".current");
  if (!current) box.scrollTop = 0;
  else box.scrollTop += current.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
}

/** The current entity, and those of the others that do not overlap it. */
function marks(queue) {
  const { item, text } = queue;
  const here = queue.items.map((one, id) => ({ ...one, id })).filter((one) => one.text === text);
  const others = here.filter((one) => one.id !== queue.at && one.state !== "rejected");
  const wanted = [
    ...(item ? [{ ...item, id: queue.at, kind: "current", note: NOTES[stateOf(item)] }] : []),
    ...queue.records[text].given.map((one) => ({ ...one, kind: "given", note: "in the file" })),
    ...others.filter((one) => one.state === "accepted").map((one) => ({ ...one, kind: "accepted", note: "✓" })),
    ...others.filter((one) => one.state === "open").map((one) => ({ ...one, kind: "open", note: "?" })),
  ];
  const drawn = [];
  for (const one of wanted) if (!drawn.some((other) => overlap(one, other))) drawn.push(one);
  return drawn;
}

function facts(queue) {
  const { item } = queue;
  const single = queue.texts.length === 1;
  const text = single ? "" : `text ${queue.text + 1} of ${queue.texts.length}`;
  if (!item) return [single ? "No entity is marked or proposed here." : `T${text.slice(1)}: nothing is proposed here.`];
  const position = `${queue.at + 1} of ${queue.items.length}${text && ", "}${text}: `;
  const known = [position, nameNode(item.type), `, ${scoreOf(item)}. `];
  return item.reason ? [...known, node("span", { class: "reason" }, item.reason)] : known;
}

/** Say which entity is the current one or, where there is none, which text. */
export function currentText({ item, text, texts }) {
  if (!item) return `Text ${text + 1} of ${texts.length}.`;
  const words = visible(texts[item.text].slice(item.start, item.end));
  return `Current: ${[words, visible(item.type), item.reason].filter(Boolean).join(", ")}.`;
}

function scoreOf(item) {
  if (item.score !== null) return `score ${item.score.toFixed(2)}`;
  return item.proposed ? "saved" : "marked by you";
}

function neighbours(queue, versions, goTo) {
  const from = Math.max(0, Math.min(queue.at - AROUND, queue.items.length - 2 * AROUND - 1));
  return queue.items.slice(from, from + 2 * AROUND + 1).map((item, index) => {
    const at = from + index;
    const words = visible(queue.texts[item.text].slice(item.start, Math.min(item.end, item.start + 60)));
    const chip = node("span", { class: `chip c${versions.style(item.type).hue}` }, nameNode(item.type));
    const score = item.score === null ? "" : `${item.score.toFixed(2)} `;
    const label = [
      node("bdi", { class: "what" }, words),
      chip,
      node("span", { class: "muted" }, `${score}${STATES[stateOf(item)]}`),
    ];
    const choose = button("", () => goTo(at), { "aria-current": at === queue.at ? "true" : null });
    choose.append(...label);
    return node("li", {}, choose);
  });
}
