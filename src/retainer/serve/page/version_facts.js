/** One version of a lineage in words: what it learned, when, from how much, how well. */

import { amount, name, node, spelled } from "./dom.js";

/** @returns {Node[]} */
export function drawStep(step, of) {
  const facts = [
    ["what", spelled(step.what)],
    ["when", step.created ? when(step.created) : ""],
    ["from", learnedFrom(step.data)],
    ["by", step.method && !step.change?.verb ? `${step.method}, seed ${step.seed}` : ""],
    ["F1 on its dev set", scores(step.scores)],
    ["hash", step.hash.slice(0, 12)],
  ];
  const rows = facts
    .filter(([, value]) => value && value.length !== 0)
    .map(([term, value]) => node("div", {}, node("dt", {}, term), node("dd", {}, value)));
  return [
    node(
      "h3",
      {},
      name(step.served_as ?? step.hash.slice(0, 12)),
      node("span", { class: "muted" }, ` version ${step.number} of ${of}`),
    ),
    node("dl", { class: "facts" }, rows),
  ];
}

function when(created) {
  const date = new Date(created);
  if (Number.isNaN(date.getTime())) return spelled(created);
  return node(
    "time",
    { datetime: date.toISOString() },
    date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }),
  );
}

function learnedFrom(data) {
  if (!data?.sentences) return "";
  const entities = Object.entries(data.entities ?? {}).map(([type, count]) => `${count} ${spelled(type)}`);
  return `${amount(data.sentences, "sentence")}${entities.length ? ` (${entities.join(", ")})` : ""}`;
}

function scores(scores) {
  const before = new Map(Object.entries(scores?.before ?? {}));
  return Object.entries(scores?.per_type ?? {}).flatMap(([type, score], at) => [
    at ? ", " : "",
    name(type),
    ` ${score.f1.toFixed(1)}`,
    before.has(type) ? ` (before ${before.get(type).f1.toFixed(1)})` : "",
  ]);
}
