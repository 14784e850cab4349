// Slack's dates, in the reader's own zone and language.
import { el } from "./dom.js";

const EVERY = 5000; // milliseconds between two looks at what has grown older

// dateNode draws a date by a format with Slack's placeholders, and its fallback where that can't be done.
export function dateNode({ seconds, format, fallback, address }, link) {
  const when = new Date(Number(seconds) * 1000);
  if (!format || Number.isNaN(when.getTime())) return document.createTextNode(fallback);
  const text = formatDate(when, format);
  const node = address ? link(address, text) : el("time", { text });
  if (node.nodeType !== Node.ELEMENT_NODE) return node;
  node.title = when.toLocaleString();
  node.dataset.when = when.toISOString();
  node.dataset.format = format;
  return node;
}

// keepDatesFresh redraws the dates on the page from time to time. It changes no message.
export function keepDatesFresh() {
  setInterval(() => {
    for (const node of document.querySelectorAll("[data-format]")) {
      const text = formatDate(new Date(node.dataset.when), node.dataset.format);
      if (node.textContent !== text) node.textContent = text;
    }
  }, EVERY);
}

// formatDate fills in Slack's placeholders.
export function formatDate(when, format) {
  const say = (options) => when.toLocaleString(undefined, options);
  const pretty = (otherwise) => relativeDay(when) ?? otherwise;
  const full = say({ year: "numeric", month: "long", day: "numeric" });
  const short = say({ year: "numeric", month: "short", day: "numeric" });
  const long = say({ weekday: "long", year: "numeric", month: "long", day: "numeric" });
  const sameYear = when.getFullYear() === new Date().getFullYear();
  const values = {
    date: full, date_full: full, date_short: short, date_long: long, date_long_full: full,
    date_num: when.toLocaleDateString("sv"), date_slash: say({ year: "numeric", month: "2-digit", day: "2-digit" }),
    date_pretty: pretty(full), date_short_pretty: pretty(short), date_long_pretty: pretty(long),
    day_divider_pretty: pretty(sameYear ? say({ weekday: "long", month: "long", day: "numeric" }) : long),
    time: say({ hour: "2-digit", minute: "2-digit" }), time_secs: say({ hour: "2-digit", minute: "2-digit", second: "2-digit" }),
    ago: ago(when),
  };
  return format.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

function relativeDay(when) {
  const day = (date) => Math.floor((date.getTime() - date.getTimezoneOffset() * 60000) / 86400000);
  return { "-1": "yesterday", 0: "today", 1: "tomorrow" }[day(when) - day(new Date())];
}

// ago is how long a time is past, or is still to come.
export function ago(when) {
  const seconds = Math.round((when - Date.now()) / 1000);
  const [unit, size] = [["day", 86400], ["hour", 3600], ["minute", 60]].find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(Math.trunc(seconds / size), unit);
}
