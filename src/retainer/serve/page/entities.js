/** A text with its entities: words, type and note in the line, the score where one points or stands. */

import { name, node } from "./dom.js";

/**
 * A mark is {start, end, type, kind, note, tip}: places in code points, `note` is written beside the type, `tip` is
 * shown on hover and focus. Marks must not overlap. A text that is `still` leaves the arrow keys to others.
 * @param {import("./codepoints.js").Text} text
 */
export function drawText(text, marks, roster, still = false) {
  const sorted = [...marks].sort((a, b) => a.start - b.start);
  const pieces = [];
  let at = 0;
  for (const mark of sorted) {
    pieces.push(text.slice(at, mark.start), drawEntity(text.slice(mark.start, mark.end), mark, roster));
    at = mark.end;
  }
  const drawn = node("p", { class: "text", dir: "auto" }, pieces, text.slice(at));
  if (!still) walkable(drawn);
  return drawn;
}

/** Draw one entity. */
export function drawEntity(words, mark, roster) {
  const tip = mark.tip ? node("span", { class: "tip" }, mark.tip) : null;
  const chip = node(
    "span",
    { class: mark.type.length > 24 ? "chip long" : "chip" },
    name(mark.type),
    mark.note ? ` ${mark.note}` : "",
    tip,
  );
  const label = [words, mark.type, mark.note, mark.tip].filter(Boolean).join(", ");
  const made = node(
    "span",
    {
      class: `entity c${roster.look(mark.type).hue} ${mark.kind ?? ""}`.trim(),
      tabindex: -1,
      role: "group",
      "aria-label": label,
    },
    node("span", { class: "words" }, words),
    chip,
  );
  if (mark.id !== undefined) made.dataset.id = mark.id;
  return made;
}

/** Let one walk from entity to entity with the arrow keys; the text as a whole is one stop of the tab key. */
function walkable(text) {
  const all = [...text.querySelectorAll(".entity")];
  if (!all.length) return;
  all[0].tabIndex = 0;
  const go = (to) => {
    for (const one of all) one.tabIndex = one === to ? 0 : -1;
    to.focus();
  };
  text.addEventListener("keydown", (event) => {
    const at = all.indexOf(document.activeElement);
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const to = { ArrowRight: all[at + 1], ArrowLeft: all[at - 1], Home: all[0], End: all.at(-1) }[event.key];
    if (event.key === "Escape") document.activeElement.blur();
    if (!to) return;
    event.preventDefault();
    go(to);
  });
}

/** Say a score as a person reads it. */
export function scored(score, calibrated) {
  return calibrated ? `right with ${Math.round(score * 100)} %` : `score ${score.toFixed(2)}`;
}
