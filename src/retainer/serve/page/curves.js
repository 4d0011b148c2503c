/** The curves: F1 of every type over the versions of a lineage. Types differ by colour, dash, marker and name. */

import { svgNode, visible } from "./dom.js";

const HEIGHT = 300;
const WIDE = { width: 640, right: 160 };
const NARROW = { width: 360, right: 140 };
/** A phone gets a drawing of its own width: a scaled one would be too small to read. */
const EDGE = { top: 14, bottom: 34, left: 38 };
const LINE = 17;
const NAME_START = 18;
const VALUE_WIDTH = 50;
/** Pixels from the last version to the name of a type, and those that its last F1 needs at most. */

/**
 * @param {{type: string, points: [number, number][]}[]} lines
 * @param {string[]} names the names of the versions, in their order
 * @param {number} current the index of the version on show
 */
export function drawCurves(lines, names, current, versions) {
  const { width, right } = window.matchMedia("(max-width: 46rem)").matches ? NARROW : WIDE;
  const edge = width - right;
  const x = (at) => EDGE.left + (names.length === 1 ? 0.5 : at / (names.length - 1)) * (edge - EDGE.left);
  const y = (f1) => HEIGHT - EDGE.bottom - (f1 / 100) * (HEIGHT - EDGE.top - EDGE.bottom);
  const grid = [0, 25, 50, 75, 100].flatMap((f1) => [
    svgNode("line", { class: f1 ? "grid" : "grid base", x1: EDGE.left, x2: edge, y1: y(f1), y2: y(f1) }),
    svgNode("text", { class: "tick", x: EDGE.left - 8, y: y(f1) + 4, "text-anchor": "end" }, String(f1)),
  ]);
  const ticks = names.map((name, at) =>
    svgNode(
      "text",
      { class: at === current ? "tick here" : "tick", x: x(at), y: HEIGHT - 12, "text-anchor": "middle" },
      short(name, names.length),
    ),
  );
  const here = x(current);
  const marker = svgNode("line", { class: "now", x1: here, x2: here, y1: EDGE.top, y2: HEIGHT - EDGE.bottom });
  const label = `F1 per type over ${names.length} versions: ${lines.map((line) => lineText(line, names)).join("; ")}`;
  const labels = spread(lines.map((line) => y(line.points.at(-1)[1])));
  const curves = lines.flatMap((line, at) => [
    ...curve(line, labels[at], x, y, edge, versions.style(line.type)),
    nameLabel(line, labels[at], edge, right, versions.style(line.type)),
  ]);
  return svgNode(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label },
    grid,
    marker,
    ticks,
    curves,
  );
}

function curve(line, label, x, y, edge, style) {
  const [last, f1] = line.points.at(-1);
  const path = line.points
    .map(([at, value], index) => `${index ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`)
    .join("");
  return [
    svgNode("path", { class: `line c${style.hue}`, d: path, "stroke-dasharray": style.dash || null }),
    svgNode("path", { class: `leader c${style.hue}`, d: `M${x(last) + 6} ${y(f1)}L${edge + 14} ${label}` }),
    ...line.points.map(([at, value]) =>
      svgNode("path", {
        class: `dot c${style.hue}`,
        d: style.marker,
        transform: `translate(${x(at).toFixed(1)} ${y(value).toFixed(1)})`,
      }),
    ),
  ];
}

function nameLabel(line, label, edge, right, style) {
  return svgNode(
    "text",
    { class: `name c${style.hue}`, x: edge + NAME_START, y: label + 4 },
    fitted(line.type, right - NAME_START - VALUE_WIDTH),
    svgNode("tspan", { class: "value", dx: 5 }, line.points.at(-1)[1].toFixed(1)),
  );
}

/** Move labels apart that would overlap, no further than needed. */
function spread(wanted) {
  const order = wanted.map((_, at) => at).sort((a, b) => wanted[a] - wanted[b]);
  const heights = [...wanted];
  order.forEach((at, rank) => {
    if (rank) heights[at] = Math.max(heights[at], heights[order[rank - 1]] + LINE);
  });
  const over = Math.max(0, (heights[order.at(-1)] ?? 0) - (HEIGHT - EDGE.bottom));
  let above = Infinity;
  for (const at of [...order].reverse()) {
    heights[at] = Math.min(heights[at] - (above === Infinity ? over : 0), above - LINE);
    above = heights[at];
  }
  return heights;
}

/** Shorten a name to a number of characters; many versions share the axis. */
function short(text, sharing) {
  const room = sharing > 6 ? 6 : 14;
  const points = [...visible(text)];
  return points.length > room ? `${points.slice(0, room - 1).join("")}…` : points.join("");
}

/** Shorten a name until it fits into some pixels; fonts differ too much to count characters. */
function fitted(text, width) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
  const points = [...visible(text)];
  const cut = (count) => (count < points.length ? `${points.slice(0, count).join("")}…` : points.join(""));
  let count = points.length;
  while (count > 1 && context.measureText(cut(count)).width > width) count -= 1;
  return cut(count);
}

function lineText(line, names) {
  const points = line.points.map(([at, f1]) => `${f1.toFixed(1)} in ${visible(names[at])}`);
  return `${visible(line.type)} ${points.join(", ")}`;
}
