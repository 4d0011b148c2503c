/** The current item of a review: its text with all known entities, and the items around it. */

import { button, byId, nameNode, node, visible } from "./dom.js";
import { drawText } from "./entities.js";
import { overlap } from "./proposals.js";
import { ReviewQueue } from "./review_queue.js";

const AROUND = 4;
/** Items listed before and after the current one. */

const STATES = { open: "?", accepted: "✓ accepted", corrected: "✓ corrected", rejected: "✗ rejected" };
const NOTES = { ...STATES, accepted: "✓" };

/** Draw everything; `goTo` makes the item with an index the current one. */
export function drawItem(queue, versions, goTo) {
  const { item } = queue;
  const box = byId("review-text");
  box.replaceChildren(drawText(queue.texts[item.text], marks(queue), versions, false));
  byId("review-facts").replaceChildren(...facts(queue));
  byId("review-list").replaceChildren(...neighbours(queue, versions, goTo));
  byId("review-other").hidden = !item.other;
  for (const one of byId("review-types").querySelectorAll("button"))
    one.setAttribute("aria-pressed", String(one.dataset.type === item.type));
  const current = box.querySelector(".current");
  box.scrollTop += current.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
}

/** The current entity, and those of the others that do not overlap it. */
function marks(queue) {
  const { item } = queue;
  const others = queue.items.filter((one) => one.text === item.text && one !== item && one.state !== "rejected");
  const wanted = [
    { ...item, kind: "current", note: NOTES[ReviewQueue.state(item)] },
    ...queue.records[item.text].given.map((one) => ({ ...one, kind: "given", note: "in the file" })),
    ...others.filter((one) => one.state === "accepted").map((one) => ({ ...one, kind: "accepted", note: "✓" })),
    ...others.filter((one) => one.state === "open").map((one) => ({ ...one, kind: "open", note: "?" })),
  ];
  const drawn = [];
  for (const one of wanted) if (!drawn.some((other) => overlap(one, other))) drawn.push(one);
  return drawn;
}

function facts(queue) {
  const { item } = queue;
  const position = `${queue.at + 1} of ${queue.items.length}, text ${item.text + 1}: `;
  const known = [position, nameNode(item.type), `, score ${item.score.toFixed(2)}. `];
  return item.reason ? [...known, node("span", { class: "reason" }, item.reason)] : known;
}

function neighbours(queue, versions, goTo) {
  const from = Math.max(0, Math.min(queue.at - AROUND, queue.items.length - 2 * AROUND - 1));
  return queue.items.slice(from, from + 2 * AROUND + 1).map((item, index) => {
    const at = from + index;
    const words = visible(queue.texts[item.text].slice(item.start, Math.min(item.end, item.start + 60)));
    const chip = node("span", { class: `chip c${versions.style(item.type).hue}` }, nameNode(item.type));
    const label = [
      node("bdi", { class: "what" }, words),
      chip,
      node("span", { class: "muted" }, `${item.score.toFixed(2)} ${STATES[ReviewQueue.state(item)]}`),
    ];
    const choose = button("", () => goTo(at), { "aria-current": at === queue.at ? "true" : null });
    choose.append(...label);
    return node("li", {}, choose);
  });
}
