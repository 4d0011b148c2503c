/** A text with its entities: words, type and note inline, the score on hover and focus. */

import { nameNode, node } from "./dom.js";

/**
 * A mark is {start, end, type, kind, note, tip}: offsets in code points, `note` is written beside the type, `tip` is
 * shown on hover and focus. Marks must not overlap. The arrow keys go from entity to entity.
 * @param {import("./codepoints.js").Text} text
 */
export function drawText(text, marks, versions) {
  if (text.isBlank) return node("p", { class: "text muted" }, "(empty)");
  const paragraph = drawPassive(text, marks, versions, (start, end) => [text.slice(start, end)]);
  addArrowKeys(paragraph);
  return paragraph;
}

/** Draw a text that leaves the arrow keys to its view; `pieces` makes the nodes of a part of it. */
export function drawPassive(text, marks, versions, pieces) {
  const sorted = [...marks].sort((a, b) => a.start - b.start);
  const children = [];
  let at = 0;
  for (const mark of sorted) {
    const words = text.slice(mark.start, mark.end);
    children.push(...pieces(at, mark.start), drawEntity(words, pieces(mark.start, mark.end), mark, versions));
    at = mark.end;
  }
  return node("p", { class: "text", dir: "auto" }, children, pieces(at, text.length));
}

/** Draw one entity of some words, which are drawn already. */
function drawEntity(words, drawn, mark, versions) {
  const tip = mark.tip ? node("span", { class: "tip" }, mark.tip) : null;
  const chip = node(
    "span",
    { class: mark.type.length > 24 ? "chip long" : "chip" },
    nameNode(mark.type),
    mark.note ? ` ${mark.note}` : "",
    tip,
  );
  const label = [words, mark.type, mark.note, mark.tip].filter(Boolean).join(", ");
  const entity = node(
    "span",
    {
      class: `entity c${versions.style(mark.type).hue} ${mark.kind ?? ""}`.trim(),
      role: "group",
      "aria-label": label,
    },
    node("span", { class: "words" }, drawn),
    chip,
  );
  if (mark.id !== undefined) entity.dataset.id = mark.id;
  return entity;
}

/** Let the arrow keys move from entity to entity; the text as a whole is one stop of the tab key. */
function addArrowKeys(text) {
  const all = [...text.querySelectorAll(".entity")];
  if (!all.length) return;
  for (const entity of all) entity.tabIndex = entity === all[0] ? 0 : -1;
  const focus = (target) => {
    for (const entity of all) entity.tabIndex = entity === target ? 0 : -1;
    target.focus();
  };
  text.addEventListener("keydown", (event) => {
    const at = all.indexOf(document.activeElement);
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const target = { ArrowRight: all[at + 1], ArrowLeft: all[at - 1], Home: all[0], End: all.at(-1) }[event.key];
    if (event.key === "Escape") document.activeElement.blur();
    if (!target) return;
    event.preventDefault();
    focus(target);
  });
}

/** Return a score as a person reads it. */
export function scoreText(score, calibrated) {
  return calibrated ? `right with ${Math.round(score * 100)} %` : `score ${score.toFixed(2)}`;
}
