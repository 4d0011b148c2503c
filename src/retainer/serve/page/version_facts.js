/** One version of a lineage in words: what it learned, when, from how much data, and its scores. */

import { nameNode, node, plural, visible } from "./dom.js";

/** @returns {Node[]} */
export function drawVersionFacts(step, count) {
  const facts = [
    ["what", visible(step.what)],
    ["when", step.created ? dateNode(step.created) : ""],
    ["data", dataText(step.data)],
    ["method", step.method && !step.change?.verb ? `${step.method}, seed ${step.seed}` : ""],
    [isSetAside(step) ? "F1 on what was set aside" : "F1 on its dev set", scoreNodes(step)],
    ["hash", step.hash.slice(0, 12)],
  ];
  const rows = facts
    .filter(([, value]) => value && value.length !== 0)
    .map(([term, value]) => node("div", {}, node("dt", {}, term), node("dd", {}, value)));
  return [
    node(
      "h3",
      {},
      nameNode(step.served_as ?? step.hash.slice(0, 12)),
      node("span", { class: "muted" }, ` version ${step.number} of ${count}`),
    ),
    node("dl", { class: "facts" }, rows),
  ];
}

/** Return a time as a person reads it. */
export function dateNode(created) {
  const date = new Date(created);
  if (Number.isNaN(date.getTime())) return visible(created);
  return node(
    "time",
    { datetime: date.toISOString() },
    date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }),
  );
}

function dataText(data) {
  if (!data?.sentences) return "";
  const entities = Object.entries(data.entities ?? {}).map(([type, count]) => `${count} ${visible(type)}`);
  return `${plural(data.sentences, "sentence")}${entities.length ? ` (${entities.join(", ")})` : ""}`;
}

/** Sentences that `learn` set aside itself are few, and no dev file: their number says what the score is worth. */
function isSetAside(step) {
  return step.data?.dev_given === false;
}

function scoreNodes(step) {
  const before = new Map(Object.entries(step.scores?.before ?? {}));
  return Object.entries(step.scores?.per_type ?? {}).flatMap(([type, score], at) => [
    at ? ", " : "",
    nameNode(type),
    ` ${score.f1.toFixed(1)}`,
    isSetAside(step) ? ` (${plural(score.support, "entity", "entities")})` : "",
    before.has(type) ? ` (before ${before.get(type).f1.toFixed(1)})` : "",
  ]);
}
