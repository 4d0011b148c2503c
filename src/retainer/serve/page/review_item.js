/** The desk of a review: the text of one item with everything that is known about it, and what comes around it. */

import { drawText } from "./entities.js";
import { button, name, node, part, spelled } from "./dom.js";
import { overlap } from "./proposals.js";
import { Queue } from "./review_queue.js";

const AROUND = 4;
/** Items shown before and after the one on the desk. */

const SAID = { open: "?", accepted: "✓ accepted", corrected: "✓ corrected", rejected: "✗ rejected" };

/** Draw everything. */
export function drawDesk(queue, roster, go) {
  const { item } = queue;
  part("review-text").replaceChildren(drawText(queue.texts[item.text], marks(queue), roster, true));
  part("review-facts").replaceChildren(...facts(queue));
  part("review-list").replaceChildren(...around(queue, roster, go));
  part("review-other").hidden = !item.other;
  for (const one of part("review-types").querySelectorAll("button"))
    one.setAttribute("aria-pressed", String(one.dataset.type === item.type));
  const current = part("review-text").querySelector(".current");
  const box = part("review-text");
  box.scrollTop += current.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
}

/** The entity on the desk, and of the others what does not lie under it. */
function marks(queue) {
  const { item } = queue;
  const here = queue.items.filter((one) => one.text === item.text && one !== item && one.state !== "rejected");
  const wanted = [
    { ...item, kind: "current", note: note(item) },
    ...queue.records[item.text].given.map((one) => ({ ...one, kind: "given", note: "in the file" })),
    ...here.filter((one) => one.state === "accepted").map((one) => ({ ...one, kind: "accepted", note: "✓" })),
    ...here.filter((one) => one.state === "open").map((one) => ({ ...one, kind: "open", note: "?" })),
  ];
  const placed = [];
  for (const one of wanted) if (!placed.some((other) => overlap(one, other))) placed.push(one);
  return placed;
}

function note(item) {
  return { open: "?", accepted: "✓", corrected: "✓ corrected", rejected: "✗ rejected" }[Queue.state(item)];
}

function facts(queue) {
  const { item } = queue;
  const place = `${queue.at + 1} of ${queue.items.length}, text ${item.text + 1}: `;
  const known = [place, name(item.type), `, score ${item.score.toFixed(2)}. `];
  return item.reason ? [...known, node("span", { class: "reason" }, item.reason)] : known;
}

function around(queue, roster, go) {
  const from = Math.max(0, Math.min(queue.at - AROUND, queue.items.length - 2 * AROUND - 1));
  return queue.items.slice(from, from + 2 * AROUND + 1).map((one, index) => {
    const at = from + index;
    const words = spelled(queue.texts[one.text].slice(one.start, Math.min(one.end, one.start + 60)));
    const chip = node("span", { class: `chip c${roster.look(one.type).hue}` }, name(one.type));
    const label = [
      node("bdi", { class: "what" }, words),
      chip,
      node("span", { class: "muted" }, `${one.score.toFixed(2)} ${SAID[Queue.state(one)]}`),
    ];
    const made = button("", () => go(at), { "aria-current": at === queue.at ? "true" : null });
    made.append(...label);
    return node("li", {}, made);
  });
}
