/** The commands for what a review gave: they work as they stand, where the file and the version are. */

import { byId, node, visible } from "./dom.js";

/** Show the commands for a downloaded file; `version` made the proposals. */
export function drawNextSteps(name, version, reviewed) {
  const commands = nextCommands(name, version, reviewed);
  const where = `In the folder where the file and ${visible(version.folder)} can be reached:`;
  byId("review-steps").replaceChildren(
    node("p", {}, where),
    node("pre", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Commands" }, commands.join("\n")),
    commands.length > 1 ? "" : node("p", { class: "muted" }, "The file has no entity that could be learned from it."),
  );
  byId("review-steps").hidden = false;
}

/** Return the commands, one per line. */
export function nextCommands(name, version, { types, complete }) {
  const file = quoted(name);
  const folder = quoted(version.folder);
  const check = `retainer check ${file} --model ${folder}`;
  const named = namedTypes([...types], complete, version);
  if (!types.size || named === null) return [check];
  const out = quoted(`${version.folder.replace(/\/+$/, "")}-reviewed`);
  return [check, `retainer learn ${file} --from ${folder} --out ${out}${named}`];
}

/** The types must be named if the version knows them all and no text is complete for one; null if they cannot be. */
function namedTypes(types, complete, version) {
  if (types.some((type) => complete.has(type) || !version.types.includes(type))) return "";
  const names = types.filter((type) => !type.includes(","));
  return names.length ? ` --types ${quoted(names.join(","))}` : null;
}

/** Quote a word for a shell, if it needs that. */
function quoted(word) {
  return /^[\p{L}\p{N}._/,@+:][\p{L}\p{N}._/,@+:-]*$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
