/** The page: its views, one of which is visible, and what they have in common. */

import { Compare } from "./compare.js";
import { button, byId, node } from "./dom.js";
import { errorMessage } from "./errors.js";
import { Find } from "./find.js";
import { Notices } from "./notices.js";
import { Review } from "./review.js";
import { limits, loadLimits } from "./server.js";
import { SwapNotice } from "./swap_notice.js";
import { TextInput } from "./text_input.js";
import { Travel } from "./travel.js";
import { Versions } from "./versions.js";
import { Workbench } from "./workbench.js";

const VIEWS = {
  find: { View: Find, title: "Find", action: "Find entities" },
  compare: { View: Compare, title: "Compare", action: "Compare" },
  travel: { View: Travel, title: "Time travel", action: "Show" },
  review: { View: Review, title: "Review", action: "" },
};
const BENCH = "workbench";
const OWN_TEXTS = ["review", BENCH];
/** Views that do not look at the texts above them. */
const FIELDS = "input:not([type=checkbox], [type=file]), textarea, select, [contenteditable]";

const views = {};
let input = null;

/** The name of the visible view; it is in the address, so the browser's back and forward buttons work. */
function visibleView() {
  const [wanted] = location.hash.slice(1).split("/");
  return Object.hasOwn(views, wanted) ? wanted : Object.keys(views)[0];
}

/** Offer the views that there are. */
function drawLinks(current) {
  for (const link of byId("views").querySelectorAll("a")) {
    link.parentElement.hidden = !Object.hasOwn(views, link.hash.slice(1));
    if (link.hash === `#${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function show() {
  const current = visibleView();
  for (const id of [BENCH, ...Object.keys(VIEWS)]) byId(id).hidden = id !== current;
  drawLinks(current);
  const { title, action } = VIEWS[current] ?? { title: "Workbench" };
  byId("source").hidden = OWN_TEXTS.includes(current);
  byId("go").textContent = action ?? "";
  document.title = `${title} · retainer`;
  views[current].showPart?.();
  if (!OWN_TEXTS.includes(current) && (input.file || input.field.value.trim())) run(false);
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
  const view = visibleView();
  if (OWN_TEXTS.includes(view)) views[view].open(file);
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
  if (limits.workbench) views[BENCH] = new Workbench(noticesOf(BENCH), () => onUse(versions));
  addViews(versions);
  input = new TextInput({ during: (...all) => views[visibleView()].notices.during(...all) }, run);
  byId("views").hidden = false;
  window.addEventListener("hashchange", () => {
    show();
    byId(visibleView()).querySelector("h2").focus({ preventScroll: location.hash.includes("/") });
  });
  document.addEventListener("keydown", onKey);
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId(visibleView()).querySelector("h2").focus();
  });
  show();
  views[BENCH]?.load().catch((error) => views[BENCH].notices.reportError(error));
}

function noticesOf(id) {
  return new Notices(byId(`${id}-status`), byId(`${id}-alert`));
}

/** Make the views of the served versions; a project may have none yet. */
function addViews(versions) {
  if (!versions.all.length) return;
  new SwapNotice(versions);
  for (const [id, { View }] of Object.entries(VIEWS)) views[id] = new View(versions, noticesOf(id));
}

/** Another version is in use: the first one brings the other views along. */
async function onUse(versions) {
  const first = !versions.all.length;
  versions.take((await Versions.load()).all);
  if (first) addViews(versions);
  else for (const view of Object.values(views)) view.onVersions?.();
  drawLinks(visibleView());
}

document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dragging");
});
document.addEventListener("dragleave", (event) => event.relatedTarget ?? document.body.classList.remove("dragging"));
document.addEventListener("drop", (event) => (input ? onDrop(event) : event.preventDefault()));
start();
