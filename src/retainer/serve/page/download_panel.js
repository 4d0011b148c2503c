/** Where a person downloads what a review gave, and sees the commands for it. */

import { byId } from "./dom.js";
import { reviewedLines, reviewedName, reviewedText, saveFile } from "./download.js";
import { drawNextSteps } from "./next_steps.js";

export class DownloadPanel {
  /** @param {import("./review.js").Review} review */
  constructor(review) {
    this.review = review;
    byId("review-save").addEventListener("click", () => this.save());
  }

  save() {
    const { queue, file, notices, versions, version } = this.review;
    const reviewed = reviewedLines(queue);
    notices.report(reviewedText(reviewed));
    if (!reviewed.texts) return;
    const name = reviewedName(file.name);
    saveFile(reviewed.content, name);
    queue.unsaved = reviewed.heldBack > 0;
    drawNextSteps(name, versions.find(version.value), reviewed);
  }
}
