/** What to look at first: entities about which two versions disagree, then those with low scores. */

import { postAll } from "./server.js";
import { spelled } from "./dom.js";

/**
 * An item is one proposal: {text, start, end, type, score, reason, other, state, was}. `text` is the number of its
 * text, `other` the reading of the other version where that has one, `was` the proposal before anybody corrected it.
 */
function item(text, entity, reason = "", other = null) {
  const place = { start: entity.start, end: entity.end, type: entity.entity_group };
  return {
    text,
    ...place,
    score: entity.score,
    reason,
    other: other && { start: other.start, end: other.end, type: other.entity_group },
    state: "open",
    was: place,
  };
}

/** Ask one version, or two. */
export async function propose(records, version, second, told) {
  const texts = records.map((one) => one.plain);
  if (!second) {
    const question = { version: version.name, calibrated: version.calibrated_types.length > 0 };
    const answers = await postAll("v1/predict", question, texts, told);
    return answers.flatMap((one) => one.results).flatMap((one, at) => one.entities.map((entity) => item(at, entity)));
  }
  const answers = await postAll("v1/compare", { old: second.name, new: version.name }, texts, told);
  const results = answers.flatMap((one) => one.results);
  return results.flatMap((one, at) => one.changes.map((change) => disputed(at, change, version, second)));
}

function disputed(at, change, version, second) {
  const { kind, old, new: fresh } = change;
  if (kind === "kept") return item(at, fresh);
  if (kind === "lost") return item(at, old, alone(old, second, version));
  if (kind === "gained") return item(at, fresh, alone(fresh, version, second));
  const other = spelled(second.name);
  const said =
    kind === "moved" ? `${other} finds “${spelled(old.word)}”` : `${other} says ${spelled(old.entity_group)}`;
  return item(at, fresh, said, old);
}

/** Only one version finds it; that is no dispute where the other has never learned the type. */
function alone(entity, finder, other) {
  return other.types.includes(entity.entity_group) ? `only ${spelled(finder.name)} finds it` : "";
}

/** Put the most doubtful first; equals stay in the order of the texts. */
export function sorted(items) {
  const calm = (one) => (one.reason ? 0 : 1);
  return [...items].sort((a, b) => calm(a) - calm(b) || a.score - b.score || a.text - b.text || a.start - b.start);
}

/** Tell whether two places share a character. */
export function overlap(a, b) {
  return a.start < b.end && b.start < a.end;
}

/** Leave out what lies on an entity the file already has: a person put it there. */
export function besides(items, records) {
  return items.filter((one) => !records[one.text].given.some((given) => overlap(one, given)));
}
