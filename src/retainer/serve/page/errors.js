/** An error that a person can understand and do something about; its message is shown as it is. */
export class UserError extends Error {}

/** A change that the server did not make, because somebody else made one before; `answer` says what holds now. */
export class Conflict extends UserError {
  constructor(message, answer) {
    super(message);
    this.answer = answer;
  }
}

/** Return the message to show for any error. */
export function errorMessage(error) {
  if (error instanceof UserError) return error.message;
  return `Something went wrong on this page: ${error?.message ?? error}. Reload it.`;
}
