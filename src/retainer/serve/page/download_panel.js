/** Where a person downloads what a review gave, and sees the commands for it. */

import { byId, visible } from "./dom.js";
import { incompleteTypes, reviewedLines, reviewedName, reviewedText, saveFile } from "./download.js";
import { drawNextSteps } from "./next_steps.js";

export class DownloadPanel {
  /** @param {import("./review.js").Review} review */
  constructor(review) {
    this.review = review;
    this.numbers = new Map();
    byId("review-save").addEventListener("click", () => this.save());
  }

  /** Warn of types that the download would have in places, but nowhere completely. */
  draw() {
    const { queue } = this.review;
    const types = queue.history.length ? incompleteTypes(queue) : [];
    byId("review-absence").hidden = !types.length;
    byId("review-absence").textContent = types.length ? absenceText(types) : "";
  }

  save() {
    const { queue, file, notices, versions, version } = this.review;
    const reviewed = reviewedLines(queue);
    notices.report(reviewedText(reviewed));
    if (!reviewed.texts) return;
    const name = this.nextName(file.name);
    saveFile(reviewed.content, name);
    queue.unsaved = reviewed.heldBack > 0;
    drawNextSteps(name, versions.find(version.value), reviewed);
  }

  /** Number the downloads, as browsers do in their own way: the commands must name the newest. */
  nextName(source) {
    const first = reviewedName(source, 1);
    const number = (this.numbers.get(first) ?? 0) + 1;
    this.numbers.set(first, number);
    return reviewedName(source, number);
  }
}

function absenceText(types) {
  const names = types.map((type) => `“${visible(type)}”`).join(", ");
  return (
    `No decided text is complete for ${names}: where nothing is marked, that teaches nothing, ` +
    "and “retainer check” will ask for it. If you marked all there are, say so before the download:"
  );
}
