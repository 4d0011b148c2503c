/** Where a person says what is complete: in the text in view, in all that are decided, in those to look at again. */

import { byId, nameNode, node, plural, visible } from "./dom.js";

export class CompletenessPanel {
  /** @param {import("./review.js").Review} review */
  constructor(review) {
    this.review = review;
    byId("review-complete-decided").addEventListener("click", () => this.completeDecided());
    byId("review-again").addEventListener("click", () => this.lookAgain());
  }

  /** Say that the text has every entity of all types or, if it says so already, take it back. */
  toggle() {
    this.review.apply(({ completeness, text }) => {
      const { types } = this.review.choice;
      const wanted = !types.every((type) => completeness.of(text).has(type));
      completeness.set(text, types, wanted);
      return wanted ? "Complete for all types." : "Complete for no type.";
    });
  }

  completeDecided() {
    this.review.apply(({ completeness }) => {
      const { all, empty } = completeness.setDecided();
      const complete = `${plural(all, "text")} ${all === 1 ? "is" : "are"} complete for all types`;
      const earlier = earlierText(completeness.earlier());
      const without = empty ? [`In ${empty} of them nothing was proposed or marked.`] : [];
      const said = earlier ? [`${complete} that were there when you decided.`] : [`${complete}.`];
      return [...said, ...without, earlier].filter(Boolean).join(" ");
    });
  }

  /** Go to the next text that was decided before a type was added. */
  lookAgain() {
    this.review.show((queue) => {
      const all = queue.completeness.earlier();
      const { text, types } = all.find((one) => one.text > queue.text) ?? all[0];
      queue.showText(text);
      return `Decided before ${added(types)}: mark what is missing, then tick what is complete.`;
    });
  }

  /** Draw a box to tick for every type, whether all its entities in this text are marked, and what came too late. */
  draw() {
    const { queue, choice, versions } = this.review;
    const complete = queue.completeness.of(queue.text);
    const boxes = choice.types.map((type) => {
      const box = node("input", { type: "checkbox", checked: complete.has(type) });
      box.addEventListener("change", () =>
        this.review.apply(({ completeness, text }) => completeness.set(text, [type], box.checked)),
      );
      const chip = node("span", { class: "chip" }, nameNode(type));
      return node("label", { class: `type c${versions.style(type).hue}` }, box, chip);
    });
    const place = byId("review-complete-types");
    const focused = [...place.querySelectorAll("input")].indexOf(document.activeElement);
    place.replaceChildren(...boxes);
    boxes[focused]?.querySelector("input").focus();
    const earlier = queue.completeness.earlier();
    byId("review-earlier").hidden = !earlier.length;
    byId("review-earlier-note").textContent = earlierText(earlier);
  }
}

/** Say which texts stay open for which types; nothing if there are none. */
function earlierText(earlier) {
  if (!earlier.length) return "";
  const types = [...new Set(earlier.flatMap((one) => one.types))];
  const one = earlier.length === 1;
  const decided = `${plural(earlier.length, "text")} ${one ? "was" : "were"} decided before ${added(types)}`;
  return `${decided} and ${one ? "stays" : "stay"} open for ${types.length === 1 ? "it" : "them"}.`;
}

/** Say that types were added. */
function added(types) {
  return `${types.map((type) => `“${visible(type)}”`).join(", ")} ${types.length === 1 ? "was" : "were"} added`;
}
