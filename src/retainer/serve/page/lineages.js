/** Which of the versions on duty come from one another, and how the scores of their types went. */

/**
 * A chain is {name, steps}: all versions of a lineage, oldest first, those included that are not on duty here
 * (`served_as` is null). Its name is that of its newest version.
 */
export function chainsOf(versions) {
  const old = new Set(versions.flatMap((one) => one.lineage.slice(1).map((step) => step.hash)));
  const tips = versions.filter(
    (one, at) => !old.has(one.hash) && versions.findIndex((other) => other.hash === one.hash) === at,
  );
  return tips.map((tip) => ({ name: tip.name, steps: tip.lineage.length ? [...tip.lineage].reverse() : [bare(tip)] }));
}

/** A checkpoint of somebody else has no record; it is a chain of one. */
function bare(version) {
  return {
    number: 1,
    hash: version.hash,
    served_as: version.name,
    what: "no record: a checkpoint of somebody else",
    gained: [],
    types: version.types,
    scores: {},
    data: {},
    change: {},
  };
}

/**
 * Follow the F1 of every type through a chain. A renamed type keeps its line; a type that was merged, split or dropped
 * ends, and what was made of it begins anew. What was not measured is a gap.
 * @returns {{type: string, points: [number, number][]}[]} points are [index of the step, F1 in percent]
 */
export function linesOf(steps) {
  const ended = [];
  let open = new Map();
  steps.forEach((step, at) => {
    if (step.change?.became) {
      const next = new Map();
      for (const [type, line] of open) {
        const became = Object.hasOwn(step.change.became, type) ? step.change.became[type] : [type];
        if (became.length === 1 && (step.change.verb === "rename" || became[0] === type))
          next.set(became[0], { ...line, type: became[0] });
        else ended.push(line);
      }
      open = next;
      return;
    }
    for (const [type, score] of Object.entries(step.scores?.per_type ?? {})) {
      if (!open.has(type)) open.set(type, { type, points: [] });
      open.get(type).points.push([at, score.f1]);
    }
  });
  return [...ended, ...open.values()].filter((line) => line.points.length);
}
