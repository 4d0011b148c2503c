/** The page: its views, one of which is visible, and what they have in common. */

import { Compare } from "./compare.js";
import { button, byId, node } from "./dom.js";
import { errorMessage } from "./errors.js";
import { Find } from "./find.js";
import { Notices } from "./notices.js";
import { Review } from "./review.js";
import { loadLimits } from "./server.js";
import { SwapNotice } from "./swap_notice.js";
import { TextInput } from "./text_input.js";
import { Travel } from "./travel.js";
import { Versions } from "./versions.js";

const VIEWS = {
  find: { View: Find, title: "Find", action: "Find entities" },
  compare: { View: Compare, title: "Compare", action: "Compare" },
  travel: { View: Travel, title: "Time travel", action: "Show" },
  review: { View: Review, title: "Review", action: "" },
};
const FIELDS = "input:not([type=checkbox], [type=file]), textarea, select, [contenteditable]";

const views = {};
let input = null;

/** The name of the visible view; it is in the address, so the browser's back and forward buttons work. */
function visibleView() {
  const wanted = location.hash.slice(1);
  return Object.hasOwn(VIEWS, wanted) ? wanted : "find";
}

function show() {
  const current = visibleView();
  for (const id of Object.keys(VIEWS)) byId(id).hidden = id !== current;
  for (const link of byId("views").querySelectorAll("a")) {
    if (link.hash === `#${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  byId("source").hidden = current === "review";
  byId("go").textContent = VIEWS[current].action;
  document.title = `${VIEWS[current].title} · retainer`;
  if (current !== "review" && (input.file || input.field.value.trim())) run(false);
}

/** Run the visible view on the texts; `requested` is false after a mere change of views. */
function run(requested = true) {
  const view = views[visibleView()];
  try {
    const texts = input.texts();
    const same =
      !requested && view.texts?.length === texts.length && view.texts.every((one, at) => one.plain === texts[at].plain);
    if (!same) view.run(texts);
  } catch (error) {
    if (requested) view.notices.reportError(error);
  }
}

/** Pass a key on to the view, unless a field has the focus or the key was handled already. */
function onKey(event) {
  if (
    event.defaultPrevented ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    document.querySelector("dialog[open]")
  )
    return;
  const arrow = event.key.startsWith("Arrow");
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.closest(FIELDS) || (arrow && target.closest(".entity, .scroll, nav"))) return;
  const action = views[visibleView()]?.keys?.[(event.shiftKey && arrow ? "Shift+" : "") + event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function onDrop(event) {
  event.preventDefault();
  document.body.classList.remove("dragging");
  const file = event.dataTransfer?.files?.[0];
  if (!file) return;
  if (visibleView() === "review") views.review.open(file);
  else input.open(file);
}

async function start() {
  byId("begin").replaceChildren("Loading the versions …");
  byId("begin").hidden = false;
  let versions;
  try {
    await loadLimits();
    versions = await Versions.load();
  } catch (error) {
    byId("begin").replaceChildren(
      node("span", { role: "alert" }, errorMessage(error)),
      " ",
      button("Try again", start),
    );
    return;
  }
  byId("begin").hidden = true;
  new SwapNotice(versions);
  for (const [id, { View }] of Object.entries(VIEWS)) {
    views[id] = new View(versions, new Notices(byId(`${id}-status`), byId(`${id}-alert`)));
  }
  input = new TextInput({ during: (...all) => views[visibleView()].notices.during(...all) }, run);
  byId("views").hidden = false;
  window.addEventListener("hashchange", () => {
    show();
    byId(visibleView()).querySelector("h2").focus();
  });
  document.addEventListener("keydown", onKey);
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId(visibleView()).querySelector("h2").focus();
  });
  show();
}

document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dragging");
});
document.addEventListener("dragleave", (event) => event.relatedTarget ?? document.body.classList.remove("dragging"));
document.addEventListener("drop", (event) => (input ? onDrop(event) : event.preventDefault()));
start();
