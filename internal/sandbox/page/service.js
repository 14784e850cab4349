// The service's side: its own state, independent of the bot.
import { get, oneAtATime, post } from "./api.js";
import { byId, el, reconcile } from "./dom.js";
import { chart, spark } from "./chart.js";
import { startMarks } from "./marks.js";
import { covers, startPending } from "./pending.js";
import { sources, totals } from "./traffic.js";

const SOURCES_SHOWN = 6;
const ATTACKS_SHOWN = 6;
const LISTS = { black: "deny", white: "allow", gray: "gray" };

// startService draws the account of place and returns a function that redraws it.
export function startService(place) {
  const pending = startPending();
  const marks = startMarks();
  let known = [];
  const refresh = oneAtATime(async () => {
    try {
      if (!known.length) known = (await get("accounts")).accounts.map((account) => account.name);
      if (!known.includes(place.account)) place.account = known[0];
      const state = await get(`service/${place.account}?attacks=${ATTACKS_SHOWN}`);
      if (state.account === place.account) draw(state, { pending, marks, known, place, refresh });
    } catch (error) {
      byId("totals").textContent = error.message;
    }
  });
  return refresh;
}

function draw(state, context) {
  drawAccounts(context);
  const due = context.pending(state);
  drawTraffic(state, due, context.marks(state));
  drawAttacks(state, context.refresh);
  drawRows("lists", state.ip_rules.map((entry) => listItem(entry, state, due)), "No address is on a list.");
  drawRows("rules", state.rules.filter((rule) => !rule.system).map((rule) => ruleItem(rule, due)), "No rule of its own.");
  drawRows("apps", state.applications.map((app) => ({ key: String(app.id), chip: app.mode, tone: app.mode, title: app.name, detail: `${app.host}, id ${app.id}` })), "No application.");
}

function drawAccounts({ known, place, refresh }) {
  const items = known.map((name) => ({ key: name, current: name === place.account }));
  reconcile(byId("accounts"), items, ({ key, current }) => el("button", {
    type: "button", role: "tab", "aria-selected": String(current), "aria-controls": "account-panel", text: key, data: { testid: `account-${key}`, focus: "tab" },
    on: { click: () => { place.account = key; history.replaceState(null, "", `#user=${place.user}&channel=${place.channel}&account=${key}`); refresh(); } },
  }));
}

function rate(value) {
  if (value >= 10) return Math.round(value).toLocaleString();
  if (value >= 0.05) return value.toFixed(1);
  return value > 0 ? "under 0.1" : "0";
}

function drawTraffic(state, due, marks) {
  const now = totals(state.traffic);
  const box = byId("totals");
  box.dataset.through = now.through.toFixed(1);
  box.dataset.blocked = now.blocked.toFixed(1);
  box.replaceChildren(
    el("span", { class: "key through", text: `${rate(now.through)}/s through` }),
    el("span", { class: "key blocked", text: `${rate(now.blocked)}/s blocked` }));
  byId("chart").replaceChildren(...chart(state.traffic, marks));
  const { list, rest, more: hidden } = sources(state.traffic, SOURCES_SHOWN);
  const more = hidden + state.more_sources;
  const lines = list.map((source) => ({ key: source.ip, source, name: source.ip, note: sourceNote(state, source, due) }));
  if (rest.history.some((hit) => hit.through + hit.blocked > 0)) {
    lines.push({ key: "others", source: rest, name: more > 0 ? `${more.toLocaleString()} more and others` : "All others", note: { text: "", tone: "" } });
  }
  reconcile(byId("sources"), lines, sourceLine);
  if (!lines.length) byId("sources").replaceChildren(el("li", { class: "empty", text: "No attack in the last three minutes. Start one above." }));
}

// sourceNote is where the source comes from and on which list it is.
function sourceNote(state, source, due) {
  const country = state.attacks.flatMap((attack) => attack.sources).find((s) => s.ip === source.ip)?.country ?? "";
  const entry = state.ip_rules.find((rule) => rule.subnet && covers(rule.subnet, source.ip));
  if (!entry) return { text: country, tone: "" };
  const words = { black: "denied", white: "allowed", gray: "on the gray list" }[entry.list] ?? entry.list;
  return { text: [country, due.entry(entry) || words].filter(Boolean).join(" · "), tone: entry.in_force ? entry.list : "pending" };
}

function sourceLine({ source, name, note }) {
  return el("li", { class: "source", data: { testid: "source", source: source.ip || "others", through: source.through.toFixed(1), blocked: source.blocked.toFixed(1) } },
    el("span", { class: "source-name" }, el("strong", { text: name }), note.text && el("span", { class: `aside ${note.tone}`, text: note.text })),
    spark(source.history),
    el("span", { class: source.through >= 0.05 ? "amount through" : "amount none", text: `${rate(source.through)} through` }),
    el("span", { class: source.blocked >= 0.05 ? "amount blocked" : "amount none", text: `${rate(source.blocked)} blocked` }));
}

const clock = (time) => new Date(time).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });

function drawAttacks(state, refresh) {
  const items = state.attacks.map((attack) => ({
    key: attack.id, id: attack.id, running: attack.running, incident: Boolean(attack.vuln_id), status: attack.block_status.toLowerCase(),
    title: `${attack.type} · ${attack.method} ${attack.host}${attack.path.startsWith("/") ? attack.path : ", many paths"}`,
    live: `${attack.hits.toLocaleString()} hits since ${clock(attack.first_time)}, ${attack.running ? `${rate(attack.per_second)}/s` : `ended ${clock(attack.last_time)}`}${attack.review ? `, ${attack.review}` : ""}`,
  }));
  const change = (id, what, body) => post(`attacks/${encodeURIComponent(id)}/${what}`, body).then(refresh, refresh);
  reconcile(byId("attacks"), items, (item) => el("li", { data: { testid: "attack", attack: item.id } },
    chip(item.status, item.status),
    el("span", { class: "what" }, el("strong", {}, item.title, item.incident && el("span", { class: "chip incident", text: "incident" })), el("span", { class: "aside", data: { live: "" } })),
    item.running && el("span", { class: "row-buttons" },
      !item.incident && small("incident", "Make it an incident", () => change(item.id, "incident")),
      small("×10", "Ten times the rate", () => change(item.id, "grow", { factor: 10 })),
      small("stop", "Stop this attack", () => change(item.id, "stop")))));
  if (!items.length) byId("attacks").replaceChildren(el("li", { class: "empty", text: "None yet." }));
  if (state.more_attacks > 0) byId("attacks").append(el("li", { class: "empty", text: `and ${state.more_attacks.toLocaleString()} more` }));
}

const small = (text, label, act) => el("button", { type: "button", class: "small", text, title: label, "aria-label": label, data: { focus: text }, on: { click: act } });

const chip = (text, tone) => el("span", { class: `chip ${tone.replace(/[^a-z]/g, "-")}`, text });

function listItem(entry, state, due) {
  const what = entry.subnet || `${entry.rule_type} ${(entry.source_values ?? []).join(", ")}`;
  const apps = entry.pools.includes(0) ? "all applications" : `applications ${entry.pools.map((id) => state.applications.find((app) => app.id === id)?.name ?? id).join(", ")}`;
  const by = entry.reason ? `${entry.author}: ${entry.reason}` : entry.author;
  return {
    key: String(entry.id), chip: LISTS[entry.list] ?? entry.list, tone: entry.list, title: what, gone: !entry.listed,
    detail: `${apps}, until ${until(entry.expired_at)} · ${by}`, due: due.entry(entry),
  };
}

function until(seconds) {
  const when = new Date(seconds * 1000);
  const sameDay = when.toDateString() === new Date().toDateString();
  return sameDay ? clock(when) : when.toLocaleString(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

const ruleItem = (rule, due) => ({ key: String(rule.id), chip: rule.type.replaceAll("_", " "), tone: "rule", title: rule.words, detail: `rule ${rule.id}`, gone: !rule.listed, due: due.rule(rule) });

function drawRows(id, items, none) {
  reconcile(byId(id), items, (item) => el("li", { class: item.gone ? "gone" : "", data: { testid: `${id}-row` } },
    chip(item.chip, item.tone),
    el("span", { class: "what" }, el("strong", { text: item.title }), el("span", { class: "aside", text: item.detail }),
      item.due && el("span", { class: "due", text: item.due, data: { testid: "pending" } }))));
  if (!items.length) byId(id).replaceChildren(el("li", { class: "empty", text: none }));
}
