// The traffic chart: blocked below, let through on top of it.
import { el, svg } from "./dom.js";
import { finished, smooth, WINDOW } from "./traffic.js";

const WIDTH = 720;
const HEIGHT = 150;

// chart draws the last three minutes; marks are the mitigations within them, with the seconds since.
export function chart(points, marks) {
  const hits = finished(points);
  const { blocked, both, top } = layers(hits);
  const scale = ceiling(top);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": describe(hits) });
  for (const part of [1 / 3, 2 / 3]) picture.append(svg("line", { class: "grid", x1: WIDTH * part, x2: WIDTH * part, y1: 0, y2: HEIGHT }));
  picture.append(svg("line", { class: "grid", x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2 }));
  picture.append(...areas(blocked, both, { width: WIDTH, height: HEIGHT, scale }));
  for (const mark of marks) {
    const x = WIDTH * (1 - mark.ago / WINDOW);
    picture.append(svg("line", { class: "mark-line", x1: x, x2: x, y1: 0, y2: HEIGHT }));
  }
  return [
    picture,
    ...labels(marks),
    el("span", { class: "scale top", text: `${short(scale)}/s` }),
    el("span", { class: "scale middle", text: `${short(scale / 2)}` }),
    el("div", { class: "times", "aria-hidden": "true" }, ["3 min ago", "2 min", "1 min", "now"].map((text) => el("span", { text }))),
  ];
}

const MARKS_NAMED = 4; // more would lie on each other

// labels names the newest marks, each a line lower than the one before.
function labels(marks) {
  return marks.slice(-MARKS_NAMED).map((mark, i) => {
    const label = el("span", { class: mark.ago > WINDOW / 2 ? "mark-name after" : "mark-name before", text: mark.text, data: { testid: "mark" } });
    label.style.setProperty("--at", `${100 * (1 - mark.ago / WINDOW)}%`);
    label.style.setProperty("--line", String(i));
    return label;
  });
}

// spark is the same for one source, small and without words.
export function spark(history) {
  const { blocked, both, top } = layers(history);
  const size = { width: 120, height: 22, scale: Math.max(top, 0.5) };
  return svg("svg", { class: "spark", viewBox: `0 0 ${size.width} ${size.height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...areas(blocked, both, size));
}

function layers(hits) {
  const blocked = smooth(hits.map((hit) => hit.blocked));
  const both = smooth(hits.map((hit) => hit.blocked + hit.through));
  return { blocked, both, top: Math.max(0, ...both) };
}

function areas(blocked, both, size) {
  const nothing = both.map(() => 0);
  return [
    svg("path", { class: "area-blocked", d: band(nothing, blocked, size) }),
    svg("path", { class: "area-through", d: band(blocked, both, size) }),
  ];
}

// band is the area between two lines, now at the right edge.
function band(low, high, { width, height, scale }) {
  if (!high.length) return "";
  const x = (i) => (width * (WINDOW - high.length + i + 1)) / WINDOW;
  const y = (value) => height - (Math.min(value, scale) / scale) * height;
  const point = (value, i) => `${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
  const there = high.map(point);
  const back = low.map(point).reverse();
  return `M${there.join("L")}L${back.join("L")}Z`;
}

// ceiling is the next round number above a value.
function ceiling(value) {
  const size = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * size).find((step) => step >= value * 1.05) ?? 20 * size;
}

const short = (value) => (value >= 10 ? String(Math.round(value)) : String(Number(value.toFixed(1))));

function describe(hits) {
  const last = hits.at(-1) ?? { through: 0, blocked: 0 };
  return `Hits of attacks in the last three minutes. In the last second ${last.through} were let through and ${last.blocked} blocked.`;
}
