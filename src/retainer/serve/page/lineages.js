/** The lineages of the served versions, which of two is older, and the scores of their types over time. */

/** Return whether one version comes from another, as its record says; a version does not come from itself. */
export function comesFrom(version, other) {
  return version.lineage.slice(1).some((step) => step.hash === other.hash);
}

/** Return the versions with each behind those it comes from; unrelated ones keep their order. */
export function oldestFirst(versions) {
  const ordered = new Set();
  for (const version of versions) {
    for (const step of [...version.lineage].reverse())
      for (const served of versions) if (served.hash === step.hash) ordered.add(served);
    ordered.add(version);
  }
  return [...ordered];
}

/**
 * A lineage is {name, steps}: all its versions, oldest first, including those that are not served here (`served_as` is
 * null). Its name is that of its newest version.
 */
export function lineagesOf(versions) {
  const parents = new Set(versions.flatMap((version) => version.lineage.slice(1).map((step) => step.hash)));
  const newest = versions.filter(
    (version, at) => !parents.has(version.hash) && versions.findIndex((other) => other.hash === version.hash) === at,
  );
  return newest.map((version) => ({
    name: version.name,
    steps: version.lineage.length ? [...version.lineage].reverse() : [withoutRecord(version)],
  }));
}

/** A checkpoint that retainer did not make has no record; it is a lineage of one version. */
function withoutRecord(version) {
  return {
    number: 1,
    hash: version.hash,
    served_as: version.name,
    what: "no record: a checkpoint that retainer did not make",
    gained: [],
    types: version.types,
    scores: {},
    data: {},
    change: {},
  };
}

/**
 * Follow the F1 of every type through a lineage. A renamed type keeps its line; the line of a type that was merged,
 * split or dropped ends, and the types made of it start new ones. A version that was not measured leaves a gap.
 * @returns {{type: string, points: [number, number][]}[]} points are [index of the step, F1 in percent]
 */
export function scoreLines(steps) {
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
