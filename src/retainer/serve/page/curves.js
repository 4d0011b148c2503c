/** The curves: F1 of every type over the versions of a lineage. Types differ by colour, dash, marker and name. */

import { nameNode, node, svgNode, visible } from "./dom.js";

const HEIGHT = 300;
const WIDTH = 640;
const NARROW = 340;
/** A phone gets a drawing of its own width: a scaled one would be too small to read. */
const EDGE = { top: 14, bottom: 34, left: 38, right: 16 };
const TICK_GAP = 10;
/** Pixels between the names of two versions, at least. */

/**
 * @param {{type: string, points: [number, number][]}[]} lines
 * @param {string[]} names the names of the versions, in their order
 * @param {number} current the index of the version on show
 */
export function drawCurves(lines, names, current, versions) {
  const width = window.matchMedia("(max-width: 46rem)").matches ? NARROW : WIDTH;
  const { ticks, left, right } = axis(names.map(visible), width);
  const x = (at) => left + (names.length === 1 ? 0.5 : at / (names.length - 1)) * (width - right - left);
  const y = (f1) => HEIGHT - EDGE.bottom - (f1 / 100) * (HEIGHT - EDGE.top - EDGE.bottom);
  const grid = [0, 25, 50, 75, 100].flatMap((f1) => [
    svgNode("line", { class: f1 ? "grid" : "grid base", x1: EDGE.left, x2: width, y1: y(f1), y2: y(f1) }),
    svgNode("text", { class: "tick", x: EDGE.left - 8, y: y(f1) + 4, "text-anchor": "end" }, String(f1)),
  ]);
  const below = ticks.map((tick, at) => {
    const style = at === current ? "tick here" : "tick";
    return svgNode("text", { class: style, x: x(at), y: HEIGHT - 12, "text-anchor": "middle" }, tick);
  });
  const here = x(current);
  const marker = svgNode("line", { class: "now", x1: here, x2: here, y1: EDGE.top, y2: HEIGHT - EDGE.bottom });
  const label = `F1 per type over ${names.length} versions: ${lines.map((line) => lineText(line, names)).join("; ")}`;
  return svgNode(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label },
    grid,
    marker,
    below,
    lines.flatMap((line) => curve(line, x, y, versions.style(line.type))),
  );
}

/** Draw what was measured: a dot for every value, and a line only between two versions that follow each other. */
function curve(line, x, y, style) {
  const places = line.points.map(([at, f1]) => [at, `${x(at).toFixed(1)} ${y(f1).toFixed(1)}`]);
  const path = places.map(([at, place], index) => `${places[index - 1]?.[0] === at - 1 ? "L" : "M"}${place}`).join("");
  return [
    svgNode("path", { class: `line c${style.hue}`, d: path, "stroke-dasharray": style.dash || null }),
    ...places.map(([, place]) =>
      svgNode("path", { class: `dot c${style.hue}`, d: style.marker, transform: `translate(${place})` }),
    ),
  ];
}

/** Name the types, each with its line, its marker and its last F1; below the curves, where every name has room. */
export function drawLegend(lines, names, versions) {
  const items = lines.map((line) => {
    const { hue, dash, marker } = versions.style(line.type);
    const [at, f1] = line.points.at(-1);
    const sample = svgNode(
      "svg",
      { class: `sample c${hue}`, viewBox: "-16 -7 32 14", "aria-hidden": "true" },
      svgNode("path", { d: "M-15 0H15", "stroke-dasharray": dash || null }),
      svgNode("path", { class: "mark", d: marker }),
    );
    const value = node("span", { class: "muted" }, ` ${f1.toFixed(1)} in `, nameNode(names[at]));
    return node("li", {}, sample, node("span", {}, nameNode(line.type), value));
  });
  return node("ul", { class: "legend" }, items);
}

/** Label the versions with their names or, where these do not fit beside each other, with their numbers. */
function axis(names, width) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `650 12px ${getComputedStyle(document.body).fontFamily}`;
  const sizes = names.map((name) => context.measureText(name).width);
  const [left, right] = [Math.max(EDGE.left, sizes[0] / 2), Math.max(EDGE.right, sizes.at(-1) / 2)];
  const room = (width - left - right) / Math.max(names.length - 1, 1);
  if (sizes.every((size) => size + TICK_GAP <= room)) return { ticks: names, left, right };
  return { ticks: names.map((_, at) => String(at + 1)), left: EDGE.left, right: EDGE.right };
}

function lineText(line, names) {
  const points = line.points.map(([at, f1]) => `${f1.toFixed(1)} in ${visible(names[at])}`);
  return `${visible(line.type)} ${points.join(", ")}`;
}
