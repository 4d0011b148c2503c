/** What became of the items of a review. */

/** Return the state of an item in one word. */
export function stateOf(item) {
  if (item.state !== "accepted") return item.state;
  if (!item.proposed) return "added";
  const { start, end, type } = item.proposed;
  return item.start === start && item.end === end && item.type === type ? "accepted" : "corrected";
}

/** Count the items in each state. */
export function countStates(items) {
  const counts = { open: 0, accepted: 0, corrected: 0, added: 0, rejected: 0 };
  for (const item of items) counts[stateOf(item)] += 1;
  return counts;
}
