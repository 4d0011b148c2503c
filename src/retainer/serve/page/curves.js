/** The curves: F1 of every type over the versions of a chain. Colour, dash, marker and name tell types apart. */

import { drawn, spelled } from "./dom.js";

const HEIGHT = 300;
const WIDE = { width: 640, right: 150 };
const NARROW = { width: 360, right: 128 };
/** A phone gets a drawing of its own width: one made smaller could not be read. */
const EDGE = { top: 14, bottom: 34, left: 38 };
const LINE = 17;

/**
 * @param {{type: string, points: [number, number][]}[]} lines
 * @param {string[]} names the names of the versions, in their order
 * @param {number} current the version that is looked at
 */
export function drawCurves(lines, names, current, roster) {
  const { width, right } = window.matchMedia("(max-width: 46rem)").matches ? NARROW : WIDE;
  const edge = width - right;
  const x = (at) => EDGE.left + (names.length === 1 ? 0.5 : at / (names.length - 1)) * (edge - EDGE.left);
  const y = (f1) => HEIGHT - EDGE.bottom - (f1 / 100) * (HEIGHT - EDGE.top - EDGE.bottom);
  const grid = [0, 25, 50, 75, 100].flatMap((f1) => [
    drawn("line", { class: f1 ? "grid" : "grid base", x1: EDGE.left, x2: edge, y1: y(f1), y2: y(f1) }),
    drawn("text", { class: "tick", x: EDGE.left - 8, y: y(f1) + 4, "text-anchor": "end" }, String(f1)),
  ]);
  const ticks = names.map((name, at) =>
    drawn(
      "text",
      { class: at === current ? "tick here" : "tick", x: x(at), y: HEIGHT - 12, "text-anchor": "middle" },
      short(name, names.length),
    ),
  );
  const here = drawn("line", { class: "now", x1: x(current), x2: x(current), y1: EDGE.top, y2: HEIGHT - EDGE.bottom });
  const label = `F1 per type over ${names.length} versions: ${lines.map((line) => said(line, names)).join("; ")}`;
  const places = apart(lines.map((line) => y(line.points.at(-1)[1])));
  const curves = lines.flatMap((line, at) => curve(line, places[at], x, y, edge, roster.look(line.type)));
  return drawn(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label },
    grid,
    here,
    ticks,
    curves,
  );
}

function curve(line, place, x, y, edge, look) {
  const [last, f1] = line.points.at(-1);
  const path = line.points
    .map(([at, value], index) => `${index ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`)
    .join("");
  return [
    drawn("path", { class: `line c${look.hue}`, d: path, "stroke-dasharray": look.dash || null }),
    drawn("path", { class: `leader c${look.hue}`, d: `M${x(last) + 6} ${y(f1)}L${edge + 14} ${place}` }),
    ...line.points.map(([at, value]) =>
      drawn("path", {
        class: `dot c${look.hue}`,
        d: look.marker,
        transform: `translate(${x(at).toFixed(1)} ${y(value).toFixed(1)})`,
      }),
    ),
    drawn(
      "text",
      { class: `name c${look.hue}`, x: edge + 18, y: place + 4 },
      short(line.type, 1),
      drawn("tspan", { class: "value", dx: 5 }, f1.toFixed(1)),
    ),
  ];
}

/** Move labels apart that would lie on each other, as little as that takes. */
function apart(wanted) {
  const order = wanted.map((_, at) => at).sort((a, b) => wanted[a] - wanted[b]);
  const places = [...wanted];
  order.forEach((at, rank) => {
    if (rank) places[at] = Math.max(places[at], places[order[rank - 1]] + LINE);
  });
  const over = Math.max(0, (places[order.at(-1)] ?? 0) - (HEIGHT - EDGE.bottom));
  let above = Infinity;
  for (const at of [...order].reverse()) {
    places[at] = Math.min(places[at] - (above === Infinity ? over : 0), above - LINE);
    above = places[at];
  }
  return places;
}

function short(text, sharing) {
  const room = sharing > 6 ? 6 : 14;
  const points = [...spelled(text)];
  return points.length > room ? `${points.slice(0, room - 1).join("")}…` : points.join("");
}

function said(line, names) {
  const points = line.points.map(([at, f1]) => `${f1.toFixed(1)} in ${spelled(names[at])}`);
  return `${spelled(line.type)} ${points.join(", ")}`;
}
