/** The dialog that asks for the token of a server. */

import { byId } from "./dom.js";
import { UserError } from "./errors.js";

let pending = null;

/** Ask for the token, once for all requests that wait for it. */
export function askToken(wrong) {
  pending ??= openDialog(wrong).finally(() => {
    pending = null;
  });
  return pending;
}

function openDialog(wrong) {
  const dialog = byId("token");
  const field = byId("token-field");
  byId("token-wrong").textContent = wrong ? "This is not the token of the server." : "";
  field.value = "";
  dialog.showModal();
  return new Promise((resolve, reject) => {
    byId("token-form").onsubmit = (event) => {
      event.preventDefault();
      if (!/^[!-~]+$/.test(field.value.trim())) {
        byId("token-wrong").textContent = "A token has no spaces, only ASCII letters, digits and punctuation.";
        return;
      }
      const token = field.value.trim();
      field.value = "";
      dialog.onclose = null;
      dialog.close();
      resolve(token);
    };
    dialog.onclose = () => reject(new UserError("This server needs a token. Try again to enter it."));
    byId("token-cancel").onclick = () => dialog.close();
  });
}
