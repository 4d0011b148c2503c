/** Who works here: asked once, before the first change, because every change is kept with its author. */

import { byId, visible } from "./dom.js";
import { UserError } from "./errors.js";

let name = "";
/** Kept in memory only: after a reload the page asks again. */
let pending = null;

/** Return the name of the person; ask for it if it is not known. */
export async function person() {
  if (name) return name;
  pending ??= ask().finally(() => (pending = null));
  return pending;
}

/** Ask for another name. */
export async function changePerson() {
  const before = name;
  name = "";
  try {
    await person();
  } catch {
    name = before;
  }
}

function ask() {
  const dialog = byId("person");
  const field = byId("person-field");
  dialog.showModal();
  return new Promise((resolve, reject) => {
    byId("person-form").onsubmit = (event) => {
      event.preventDefault();
      name = field.value.trim();
      if (!name) return;
      dialog.onclose = null;
      dialog.close();
      byId("bench-person").textContent = visible(name);
      byId("bench-you").hidden = false;
      resolve(name);
    };
    dialog.onclose = () => reject(new UserError("Nothing is saved without a name. Try again to enter it."));
    byId("person-cancel").onclick = () => dialog.close();
  });
}
