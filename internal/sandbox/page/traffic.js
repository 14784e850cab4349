// What the chart and the list of sources show, from the service's traffic by second. No drawing here.

export const WINDOW = 180; // seconds
const RATE_OVER = 5; // seconds that a rate is taken over
const REACH = 10; // seconds before and after that a point of the picture is a weighted mean of

// totals are the present rates per second of everything let through and blocked.
export const totals = (points) => rates(finished(points), (point) => point);

// finished leaves out the second that is still running.
export const finished = (points) => points.slice(0, -1);

// sources lists each source, the busiest of the window first; those beyond count are one line.
export function sources(points, count) {
  const whole = finished(points);
  const sums = new Map();
  for (const point of whole) {
    for (const [ip, hit] of Object.entries(point.sources ?? {})) sums.set(ip, (sums.get(ip) ?? 0) + hit.through + hit.blocked);
  }
  const ips = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a) || a.localeCompare(b));
  const shown = ips.slice(0, count);
  const list = shown.map((ip) => line(whole, ip, (point) => point.sources?.[ip] ?? NOTHING));
  const rest = line(whole, "", (point) => remainder(point, shown));
  return { list, rest, more: ips.length - shown.length };
}

const NOTHING = { through: 0, blocked: 0 };

function line(points, ip, pick) {
  return { ip, ...rates(points, pick), history: points.map(pick) };
}

function remainder(point, shown) {
  const left = { through: point.through, blocked: point.blocked };
  for (const ip of shown) {
    left.through -= point.sources?.[ip]?.through ?? 0;
    left.blocked -= point.sources?.[ip]?.blocked ?? 0;
  }
  return left;
}

function rates(points, pick) {
  const recent = points.slice(-RATE_OVER).map(pick);
  const mean = (name) => recent.reduce((sum, hit) => sum + hit[name], 0) / Math.max(1, recent.length);
  return { through: mean("through"), blocked: mean("blocked") };
}

// smooth is a weighted mean over neighbouring seconds, because hits come in bursts.
export function smooth(values) {
  return values.map((_, i) => {
    let sum = 0;
    let weights = 0;
    for (let j = Math.max(0, i - REACH + 1); j < Math.min(values.length, i + REACH); j++) {
      const weight = REACH - Math.abs(i - j);
      sum += weight * values[j];
      weights += weight;
    }
    return sum / weights;
  });
}
