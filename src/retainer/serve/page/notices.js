/** Something a person can understand and do something about; its message is shown as it is. */
export class Trouble extends Error {}

/** Say in words what went wrong, whatever it was. */
export function words(error) {
  if (error instanceof Trouble) return error.message;
  return `Something went wrong on this page: ${error?.message ?? error}. Load it again.`;
}

/** Where a view says what is going on: good news politely, bad news at once. */
export class Notices {
  /** @param {HTMLElement} status @param {HTMLElement} alert */
  constructor(status, alert) {
    this.status = status;
    this.alert = alert;
  }

  /** Say how it is. */
  tell(message) {
    this.alert.textContent = "";
    this.status.textContent = message;
  }

  /** Say what is wrong. */
  complain(error) {
    this.status.textContent = "";
    this.alert.textContent = words(error);
  }

  /** Do something that may take a while or fail; a later call wins over an earlier one that is still under way. */
  async during(message, work) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const current = () => turn === this.turn;
    this.tell(message);
    try {
      return await work(current);
    } catch (error) {
      if (current()) this.complain(error);
      return undefined;
    }
  }
}
