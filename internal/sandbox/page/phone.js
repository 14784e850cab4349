// A person's phone: its lock screen's text for each message, and which of them made it ring. Edits never do.
import { byId, el, icon, reconcile } from "./dom.js";
import { ago } from "./dates.js";
import { plain } from "./mrkdwn.js";

const SHOWN = 12;
const LOCK_SCREEN = 120; // characters, about what fits there

const WHY = { direct: "rings: to you alone", mention: "rings: you are mentioned", group: "rings: your group", everyone: "rings: everyone", thread: "rings: a thread of yours" };

// drawPhone draws the phone of the chosen user; show(channel id, ts) opens a message.
export function drawPhone(view, notices, show) {
  const me = [...view.people.values()].find((person) => person.name === view.place.user);
  const rang = notices.filter((notice) => notice.why);
  byId("phone-name").replaceChildren(icon("bell"), `${me.real_name.split(" ")[0]}’s phone`);
  byId("phone-last").textContent = rang.length ? lockScreen(rang.at(-1), view).text : "hasn’t rung yet";
  const edits = notices.reduce((sum, notice) => sum + notice.edits, 0);
  byId("phone-sum").textContent = `Of the last ${count(notices.length, "message")} ${rang.length} made it ring. ${count(edits, "edit")} since: no phone learns of those.`;
  const items = notices.slice(-SHOWN).reverse().map((notice) => ({ key: notice.ts, notice, ...lockScreen(notice, view), live: ago(new Date(Number(notice.ts) * 1000)) }));
  reconcile(byId("phone-list"), items, (item) => line(item, view, show));
}

const count = (n, of) => `${n.toLocaleString()} ${of}${n === 1 ? "" : "s"}`;

// lockScreen is the text that fits on a lock screen, and how much is left out.
function lockScreen(notice, view) {
  const all = [...plain(notice.text.replace(/\s+/g, " "), view.names)];
  const cut = all.length > LOCK_SCREEN;
  return { text: all.slice(0, LOCK_SCREEN).join("") + (cut ? "…" : ""), more: cut ? all.length - LOCK_SCREEN : 0 };
}

function line({ notice, text, more }, view, show) {
  const channel = view.names.channel(notice.channel);
  return el("li", { class: notice.why ? "rings" : "", data: { testid: "phone-notice", why: notice.why } },
    el("button", { type: "button", data: { focus: notice.ts }, on: { click: () => show(notice.channel, notice.ts) } },
      el("span", { class: "phone-head" }, el("strong", { text: channel ? `#${channel}` : "Slack" }), el("span", { data: { live: "" } }), el("span", { class: "why", text: WHY[notice.why] ?? "silent" })),
      el("span", { class: "phone-text" }, `${view.people.get(notice.user)?.real_name ?? "Slack"}: ${text}`),
      (more > 0 || notice.edits > 0) && el("span", { class: "aside", text: [more > 0 && `${more} more characters`, notice.edits > 0 && `edited ${notice.edits === 1 ? "once" : count(notice.edits, "time")} since, silently`].filter(Boolean).join(" · ") })));
}
