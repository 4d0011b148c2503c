/** The page: its views, one of which is seen, and what is common to them. */

import { Compare } from "./compare.js";
import { Find } from "./find.js";
import { button, node, part } from "./dom.js";
import { Review } from "./review.js";
import { Roster } from "./versions.js";
import { learnLimits } from "./server.js";
import { Source } from "./text_input.js";
import { Travel } from "./travel.js";
import { Notices, words } from "./notices.js";

const VIEWS = {
  find: { make: Find, title: "Find", act: "Find entities" },
  compare: { make: Compare, title: "Compare", act: "Compare" },
  travel: { make: Travel, title: "Time travel", act: "Show" },
  review: { make: Review, title: "Review", act: "" },
};
const FIELDS = "input:not([type=checkbox], [type=file]), textarea, select, [contenteditable]";

let views = {};
let source = null;

/** The name of the view that is seen: the address says so, which makes back and forward work. */
function seen() {
  const wanted = location.hash.slice(1);
  return Object.hasOwn(VIEWS, wanted) ? wanted : "find";
}

function show() {
  const current = seen();
  for (const id of Object.keys(VIEWS)) part(id).hidden = id !== current;
  for (const link of part("views").querySelectorAll("a")) {
    if (link.hash === `#${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  part("source").hidden = current === "review";
  part("go").textContent = VIEWS[current].act;
  document.title = `${VIEWS[current].title} · retainer`;
  if (current !== "review" && (source.file || source.field.value.trim())) look(false);
}

/** Have the current view look at the texts; `asked` is false where nobody pressed anything. */
function look(asked = true) {
  const view = views[seen()];
  try {
    const texts = source.texts();
    const same =
      !asked && view.texts?.length === texts.length && view.texts.every((one, at) => one.plain === texts[at].plain);
    if (!same) view.run(texts);
  } catch (error) {
    if (asked) view.notices.complain(error);
  }
}

/** Pass a key on to the view, unless somebody is writing, or the key already meant something. */
function pressed(event) {
  if (
    event.defaultPrevented ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    document.querySelector("dialog[open]")
  )
    return;
  const arrow = event.key.startsWith("Arrow");
  const place = event.target instanceof Element ? event.target : document.body;
  if (place.closest(FIELDS) || (arrow && place.closest(".entity, .scroll, nav"))) return;
  const act = views[seen()]?.keys?.[(event.shiftKey && arrow ? "Shift+" : "") + event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function dropped(event) {
  event.preventDefault();
  document.body.classList.remove("dragging");
  const file = event.dataTransfer?.files?.[0];
  if (!file) return;
  if (seen() === "review") views.review.take(file);
  else source.take(file);
}

async function begin() {
  part("begin").replaceChildren("Asking the server who is on duty …");
  part("begin").hidden = false;
  let roster;
  try {
    await learnLimits();
    roster = await Roster.load();
  } catch (error) {
    part("begin").replaceChildren(node("span", { role: "alert" }, words(error)), " ", button("Try again", begin));
    return;
  }
  part("begin").hidden = true;
  for (const [id, { make: Made }] of Object.entries(VIEWS)) {
    views[id] = new Made(roster, new Notices(part(`${id}-status`), part(`${id}-alert`)));
  }
  source = new Source({ during: (...all) => views[seen()].notices.during(...all) }, look);
  part("views").hidden = false;
  window.addEventListener("hashchange", () => {
    show();
    part(seen()).querySelector("h2").focus();
  });
  document.addEventListener("keydown", pressed);
  part("skip").addEventListener("click", (event) => {
    event.preventDefault();
    part(seen()).querySelector("h2").focus();
  });
  show();
}

document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dragging");
});
document.addEventListener("dragleave", (event) => event.relatedTarget ?? document.body.classList.remove("dragging"));
document.addEventListener("drop", (event) => (source ? dropped(event) : event.preventDefault()));
begin();
