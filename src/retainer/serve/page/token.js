/** The question for the token of a server that wants one. */

import { part } from "./dom.js";
import { Trouble } from "./notices.js";

let asking = null;

/** Ask the person for the token, once for all questions that wait for it. */
export function askToken(wrong) {
  asking ??= opened(wrong).finally(() => {
    asking = null;
  });
  return asking;
}

function opened(wrong) {
  const dialog = part("token");
  const field = part("token-field");
  part("token-wrong").textContent = wrong ? "That was not the token of this server." : "";
  field.value = "";
  dialog.showModal();
  return new Promise((resolve, reject) => {
    part("token-form").onsubmit = (event) => {
      event.preventDefault();
      if (!/^[!-~]+$/.test(field.value.trim())) {
        part("token-wrong").textContent = "A token has no blanks and only plain letters, digits and signs.";
        return;
      }
      const given = field.value.trim();
      field.value = "";
      dialog.onclose = null;
      dialog.close();
      resolve(given);
    };
    dialog.onclose = () => reject(new Trouble("This server answers only who shows its token. Try again to enter it."));
    part("token-cancel").onclick = () => dialog.close();
  });
}
