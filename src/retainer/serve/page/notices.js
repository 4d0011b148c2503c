/** Where a view reports what is going on: progress in a status line, problems in an alert. */

import { errorMessage } from "./errors.js";

export class Notices {
  /** @param {HTMLElement} status @param {HTMLElement} alert */
  constructor(status, alert) {
    this.status = status;
    this.alert = alert;
  }

  /** Report progress or a result. */
  report(message) {
    this.alert.textContent = "";
    this.status.textContent = message;
  }

  /** Report a problem. */
  reportError(error) {
    this.status.textContent = "";
    this.alert.textContent = errorMessage(error);
  }

  /** Run work that may take a while or fail; a later call wins over an earlier one that is still under way. */
  async during(message, work) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const current = () => turn === this.turn;
    this.report(message);
    try {
      return await work(current);
    } catch (error) {
      if (current()) this.reportError(error);
      return undefined;
    }
  }
}
