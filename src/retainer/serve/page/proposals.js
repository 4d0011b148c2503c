/** The proposals to review: entities about which two versions disagree come first, then those with low scores. */

import { visible } from "./dom.js";
import { postAll } from "./server.js";

/**
 * An item is one proposal: {text, start, end, type, score, reason, other, state, proposed}. `text` is the index of its
 * text, `reason` says how the versions disagree, `other` is the reading of the other version if it has one, `proposed`
 * the proposal before any correction.
 */
function proposal(text, entity, reason = "", other = null) {
  const span = { start: entity.start, end: entity.end, type: entity.entity_group };
  return {
    text,
    ...span,
    score: entity.score,
    reason,
    other: other && { start: other.start, end: other.end, type: other.entity_group },
    state: "open",
    proposed: span,
  };
}

/** Return an entity that a person marks where none was proposed. */
export function marked(text, span) {
  return { text, ...span, score: null, reason: "", other: null, state: "accepted", proposed: null };
}

/** Ask one version, or two, for proposals. */
export async function propose(records, version, second, onProgress) {
  const texts = records.map((record) => record.plain);
  if (!second) {
    const request = { version: version.name, calibrated: version.calibrated_types.length > 0 };
    const responses = await postAll("v1/predict", request, texts, onProgress);
    const results = responses.flatMap((response) => response.results);
    return results.flatMap((result, at) => result.entities.map((entity) => proposal(at, entity)));
  }
  const responses = await postAll("v1/compare", { old: second.name, new: version.name }, texts, onProgress);
  const results = responses.flatMap((response) => response.results);
  return results.flatMap((result, at) => result.changes.map((change) => compared(at, change, version, second)));
}

function compared(at, change, version, second) {
  const { kind, old, new: fresh } = change;
  if (kind === "kept") return proposal(at, fresh);
  if (kind === "lost") return proposal(at, old, foundByOne(old, second, version));
  if (kind === "gained") return proposal(at, fresh, foundByOne(fresh, version, second));
  const name = visible(second.name);
  const reason =
    kind === "moved" ? `${name} finds “${visible(old.word)}”` : `${name} says ${visible(old.entity_group)}`;
  return proposal(at, fresh, reason, old);
}

/** Only one version finds it; that is not a disagreement if the other never learned the type. */
function foundByOne(entity, finder, other) {
  return other.types.includes(entity.entity_group) ? `only ${visible(finder.name)} finds it` : "";
}

/** Put the most doubtful first; ties stay in the order of the texts. */
export function sorted(items) {
  const agreed = (item) => (item.reason ? 0 : 1);
  return [...items].sort((a, b) => agreed(a) - agreed(b) || a.score - b.score || a.text - b.text || a.start - b.start);
}

/** Return whether two spans share a character. */
export function overlap(a, b) {
  return a.start < b.end && b.start < a.end;
}

/** Return the open items that an entity leaves no room for. */
export function covered(items, span) {
  const shares = (item) => item !== span && item.text === span.text && overlap(item, span);
  return items.filter((item) => item.state === "open" && shares(item));
}

/** Leave out proposals that overlap an entity of the file: a person put it there. */
export function withoutGiven(items, records) {
  return items.filter((item) => !records[item.text].given.some((given) => overlap(item, given)));
}
