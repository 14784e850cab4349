// The messages of a channel: one row each, replies folded under their parent.
import { el, icon } from "./dom.js";
import { attachments, blocks } from "./blocks.js";
import { mrkdwn, plain } from "./mrkdwn.js";

const GROUP_SECONDS = 300;

// rows puts messages in the order of the channel, each with what its drawing depends on.
export function rows(messages, opened, statusOf) {
  const replies = Map.groupBy(messages.filter((m) => m.thread_ts && m.thread_ts !== m.ts), (m) => m.thread_ts);
  const list = [];
  for (const message of withTombstones(messages, replies)) {
    const isReply = message.thread_ts && message.thread_ts !== message.ts;
    if (isReply && !message.broadcast && !message.ephemeral) continue;
    const previous = list.at(-1);
    const under = isReply ? [] : (replies.get(message.ts) ?? []).filter((m) => !m.ephemeral);
    if (!previous || day(previous.message) !== day(message)) list.push({ key: "day" + day(message), day: day(message), message });
    const parent = isReply ? messages.find((m) => m.ts === message.thread_ts) : undefined;
    list.push({
      key: message.ts, message, replies: under, open: opened.has(message.ts), parent: parent?.text ?? "",
      grouped: Boolean(previous && !previous.day && canGroup(previous, message, under)),
      status: Object.fromEntries([message, ...under].map((m) => [m.ts, statusOf(m.ts)])),
    });
  }
  return list;
}

// withTombstones adds a tombstone for a deleted message with replies, as Slack does.
function withTombstones(messages, replies) {
  const there = new Set(messages.map((m) => m.ts));
  const gone = [...replies].filter(([ts, under]) => !there.has(ts) && under.some((m) => !m.ephemeral))
    .map(([ts]) => ({ ts, user: "", text: "", deleted: true, edited: 0 }));
  return gone.length ? [...messages, ...gone].sort((a, b) => a.ts.localeCompare(b.ts)) : messages;
}

const day = (message) => new Date(Number(message.ts) * 1000).toDateString();

function canGroup(previous, message, replies) {
  const before = previous.message;
  return before.user === message.user && !message.deleted && !before.ephemeral && !message.ephemeral && !previous.replies.length && !replies.length &&
    !message.broadcast && !before.broadcast && Number(message.ts) - Number(before.ts) < GROUP_SECONDS;
}

// row draws one. The context has names, people (by id), act(message, action), toggle(ts), show(ts), and reply(message) and
// remove(message) where people can do so.
export function row(item, context) {
  if (item.day) return el("div", { class: "day" }, el("span", { text: dayName(item.day) }));
  const { message } = item;
  if (message.deleted) return tombstone(item, context);
  return el("article", {
    class: ["message", item.grouped && "grouped", message.ephemeral && "ephemeral", message.broadcast && "broadcast"].filter(Boolean).join(" "),
    tabindex: "-1", data: { testid: "message", ts: message.ts, user: message.user },
  },
    notes(item, context),
    el("div", { class: "message-row" },
      item.grouped ? el("span", { class: "gutter" }, timestamp(message)) : avatar(context.people.get(message.user)),
      el("div", { class: "message-main" },
        !item.grouped && heading(message, context.people.get(message.user)),
        body(message, item.status[message.ts], context),
        item.replies.length > 0 && thread(item, context)),
      !message.ephemeral && context.reply && tools(message, context)));
}

// tools are what can be done with a message of the channel: all of them can be deleted, replies have no thread of their own.
const tools = (message, context) => el("span", { class: "tools" },
  tool("trash", "Delete message", "delete", () => context.remove(message)),
  !message.thread_ts && tool("reply", "Reply in thread", "reply-to", () => context.reply(message)));

const tool = (picture, label, id, act) => el("button", {
  type: "button", class: "reply-button", "aria-label": label, title: label, data: { testid: id, focus: id }, on: { click: act },
}, icon(picture));

const tombstone = (item, context) => el("article", { class: "message tombstone", data: { testid: "tombstone", ts: item.message.ts } },
  el("div", { class: "message-row" }, el("span", { class: "gutter" }, icon("trash")),
    el("div", { class: "message-main" }, el("p", { text: "This message was deleted." }), thread(item, context))));

function dayName(text) {
  if (text === new Date().toDateString()) return "Today";
  return new Date(text).toLocaleDateString(undefined, { weekday: "long", month: "long", day: "numeric" });
}

function notes({ message, parent }, context) {
  if (message.ephemeral) return el("p", { class: "note" }, icon("eye"), "Only visible to you");
  if (message.broadcast) return el("p", { class: "note" }, icon("reply"), el("span", { text: "replied to a thread:" }), el("button", { type: "button", class: "of", text: plain(firstLine(parent), context.names), data: { focus: "parent" }, on: { click: () => context.show(message.thread_ts) } }));
  return undefined;
}

const firstLine = (text) => text.split("\n")[0] || "a deleted message";

export function avatar(person) {
  const name = person?.real_name ?? "?";
  const initials = name.split(/\s+/).map((word) => [...word][0]).slice(0, 2).join("").toUpperCase();
  return el("span", { class: `avatar ${person?.is_bot ? "bot" : "role-" + (person?.role || "none")}`, "aria-hidden": "true", text: person?.is_bot ? "" : initials });
}

function heading(message, person) {
  return el("div", { class: "message-head" },
    el("strong", { text: person?.real_name ?? message.user }),
    person?.is_bot && el("span", { class: "badge", text: "APP" }),
    person?.is_stranger && el("span", { class: "badge", text: "OTHER WORKSPACE" }),
    timestamp(message));
}

function timestamp(message) {
  const when = new Date(Number(message.ts) * 1000);
  return el("time", { datetime: when.toISOString(), title: when.toLocaleString(), text: when.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" }) });
}

function body(message, status, context) {
  const inner = { names: context.names, act: (action) => context.act(message, action), status: (key) => status[key] };
  return el("div", { class: "message-body" },
    message.blocks ? blocks(message.blocks, inner) : message.text && el("div", { class: "block" }, mrkdwn(message.text, context.names)),
    message.client_msg_id && message.edited > 0 && el("span", { class: "edited", text: "(edited)" }),
    attachments(message.attachments, inner));
}

function thread(item, context) {
  const last = new Date(Number(item.replies.at(-1).ts) * 1000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  const count = item.replies.length === 1 ? "1 reply" : `${item.replies.length} replies`;
  const toggle = el("button", {
    type: "button", class: "thread-toggle", "aria-expanded": String(item.open), data: { testid: "thread", focus: "thread" },
    on: { click: () => context.toggle(item.message.ts) },
  }, el("strong", { text: count }), el("span", { text: item.open ? "Hide" : `last at ${last}` }));
  return el("div", { class: "thread" }, toggle, item.open && el("div", { class: "replies" }, item.replies.map((reply) =>
    el("article", { class: "message", data: { testid: "reply", ts: reply.ts } }, el("div", { class: "message-row" },
      avatar(context.people.get(reply.user)),
      el("div", { class: "message-main" }, heading(reply, context.people.get(reply.user)), body(reply, item.status[reply.ts], context)))))));
}
