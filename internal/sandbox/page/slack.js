// The Slack side: channels, people, messages and what a click does.
import { get, oneAtATime, post } from "./api.js";
import { byId, el, icon, reconcile } from "./dom.js";
import { confirm } from "./dialog.js";
import { drawPhone } from "./phone.js";
import { avatar, row, rows } from "./messages.js";
import { followPermalinks } from "./permalinks.js";
import { startComposer } from "./composer.js";
import { plain } from "./mrkdwn.js";
import { drawHome, drawModal, startViews } from "./views.js";

const ROLES = {
  admin: "admin: may do everything", responder: "responder: may deny, patch, undo", viewer: "viewer: may look",
  guest: "restricted guest", stranger: "from another workspace",
};

// WITH_BOT is the direct message with the bot.
const WITH_BOT = "@wafbot";

// HOME is the bot's Home tab, a place among the channels.
const HOME = "@home";

// startSlack draws the workspace and returns a function that redraws it.
export function startSlack(place, { onState }) {
  const view = { place, people: new Map(), channels: [], groups: [], opened: new Set(), status: new Map(), seen: new Map(), shown: "", thread: undefined };
  view.names = {
    user: (id) => view.people.get(id)?.name,
    channel: (id) => view.channels.find((channel) => channel.id === id)?.name,
    group: (id) => view.groups.find((group) => group.id === id)?.handle,
    isMe: (id) => view.people.get(id)?.name === view.place.user,
    isMine: (id) => view.groups.find((group) => group.id === id)?.users.some((user) => view.names.isMe(user)),
  };
  followPermalinks((channel, ts) => show(view, channel, ts));
  view.mark = (where, key, status) => mark(view, where, key, status);
  startViews(view);
  view.refresh = oneAtATime(() => refresh(view, onState).catch((error) => notice(error.message)));
  startComposer((text) => send(view, text));
  byId("replying-stop").addEventListener("click", () => reply(view, undefined));
  byId("modal-cross").append(icon("cross"));
  byId("skip").addEventListener("click", (event) => { event.preventDefault(); toNewestCard(); });
  if (place.channel === HOME) openHome(view);
  return view.refresh;
}

export function notice(text) {
  const line = byId("notice");
  line.hidden = !text;
  line.textContent = text;
}

async function refresh(view, onState) {
  const { user, channel } = view.place;
  const [state, views, { notices }] = await Promise.all(["slack", "slack/views", "slack/notices"].map((path) => get(`${path}?user=${encodeURIComponent(user)}`)));
  if (view.place.user !== user || view.place.channel !== channel) return; // somebody went elsewhere meanwhile
  view.people = new Map(state.users.map((person) => [person.id, person]));
  view.command = state.command;
  view.channels = withBot(state.channels, views.has_home);
  view.groups = state.user_groups;
  const current = view.channels.find((c) => c.name === channel) ?? view.channels[0];
  view.place.channel = current.name;
  const { messages } = current.name === HOME ? { messages: [] } : await get(`slack/messages?user=${encodeURIComponent(user)}&channel=${encodeURIComponent(current.name)}`);
  if (view.place.user !== user || view.place.channel !== current.name) return;
  view.channel = current;
  view.seen.set(user + current.name, messages.length);
  byId("team").textContent = state.team.name;
  drawChannels(view);
  drawPeople(view);
  drawHead(current);
  drawPhone(view, notices, (channel, ts) => show(view, channel, ts));
  drawPlace(view, messages, views);
  onState(state);
}

// drawPlace draws the channel or the Home tab, and the modal over it.
function drawPlace(view, messages, views) {
  const atHome = view.channel.name === HOME;
  byId("home").hidden = !atHome;
  for (const id of ["messages", "composer", "tries"]) byId(id).hidden = atHome;
  if (atHome) drawHome(view, views.home);
  else drawMessages(view, messages);
  drawModal(view, views.modal);
}

// withBot puts the conversation with the bot among the channels, also before its first message, and its Home tab; what is archived comes last.
function withBot(channels, hasHome) {
  const alone = channels.find((channel) => channel.id.startsWith("D"));
  const others = Object.groupBy(channels.filter((channel) => channel !== alone), (channel) => (channel.is_archived ? "archived" : "open"));
  return [...(others.open ?? []), { messages: 0, is_member: true, ...alone, name: WITH_BOT }, ...(hasHome ? [{ messages: 0, is_member: true, name: HOME }] : []), ...(others.archived ?? [])];
}

function go(view, place) {
  Object.assign(view.place, place);
  reply(view, undefined);
  history.replaceState(null, "", `#user=${view.place.user}&channel=${view.place.channel}&account=${view.place.account}`);
  notice("");
  if (view.place.channel === HOME) openHome(view);
  else view.refresh();
}

// show opens a message, in whatever channel it is.
function show(view, id, ts) {
  const channel = view.channels.find((c) => c.id === id);
  if (!channel) {
    notice(`${view.place.user} doesn't see the channel of that message.`);
    return;
  }
  view.wanted = ts;
  go(view, { channel: channel.name });
}

// openHome sends the bot an event that the user opened its Home tab.
async function openHome(view) {
  try {
    await post("slack/home/open", { user: view.place.user });
  } catch (error) {
    notice(error.message);
  }
  view.refresh();
}

function drawChannels(view) {
  const items = view.channels.map((channel) => ({
    key: channel.name, name: channel.name, lock: channel.is_private, archived: channel.is_archived,
    current: channel.name === view.place.channel, unread: unread(view, channel),
  }));
  reconcile(byId("channels"), items, (item) => el("li", {}, el("button", {
    type: "button", "aria-current": item.current ? "true" : undefined, class: item.unread ? "unread" : "",
    data: { testid: "channel", channel: item.name, focus: "channel" }, on: { click: () => go(view, { channel: item.name }) },
  }, sign(item), el("span", { class: "name", text: titles[item.name] ?? item.name }), item.archived && el("span", { class: "aside", text: "archived" }),
    item.unread > 0 && el("span", { class: "count", text: String(item.unread), "aria-label": `${item.unread} unread` }))));
  if (view.at !== view.place.channel) byId("channels").querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "nearest" });
  view.at = view.place.channel;
}

const titles = { [WITH_BOT]: "wafbot", [HOME]: "wafbot Home" };

function sign(channel) {
  if (channel.name === WITH_BOT) return avatar({ is_bot: true });
  if (channel.name === HOME) return icon("home");
  return channel.lock ? icon("lock") : el("span", { class: "hash", "aria-hidden": "true", text: "#" });
}

// unread counts what came since this person last had the channel open; everything counts as read when the page opens.
function unread(view, channel) {
  const key = view.place.user + channel.name;
  if (!view.seen.has(key)) view.seen.set(key, channel.messages);
  return Math.max(0, channel.messages - view.seen.get(key));
}

function drawPeople(view) {
  const items = [...view.people.values()].filter((person) => !person.is_bot)
    .map((person) => ({ key: person.id, person, current: person.name === view.place.user }));
  reconcile(byId("people"), items, ({ person, current }) => el("li", {}, el("button", {
    type: "button", "aria-pressed": String(current), title: `${person.real_name}, ${ROLES[person.role] ?? person.role}`,
    data: { testid: `user-${person.name}`, user: person.name, focus: "person" }, on: { click: () => go(view, { user: person.name }) },
  }, avatar(person), el("span", { class: "who" }, el("span", { class: "name", text: person.real_name }),
    el("span", { class: "aside", text: ROLES[person.role] ?? person.role })))));
}

const notes = { [WITH_BOT]: "only you and wafbot: type a command without /waf", [HOME]: "what wafbot shows only to you" };

function drawHead(channel) {
  const name = titles[channel.name] ?? (channel.is_private ? "" : "#") + channel.name;
  byId("channel-name").textContent = name;
  byId("too-many").hidden = !channel.hidden;
  byId("too-many").textContent = `Due to a high volume of activity, we are not displaying some messages sent by this application. (${channel.hidden} so far)`;
  byId("channel-note").textContent = notes[channel.name] ?? (channel.is_archived ? "archived: no one can post" : channel.is_member ? "" : "wafbot is not in this channel");
  const text = byId("composer-text");
  text.disabled = channel.is_archived;
  text.placeholder = channel.is_archived ? "This channel is archived" : `Message ${name}`;
}

function drawMessages(view, messages) {
  const box = byId("messages");
  const showing = view.place.user + view.place.channel;
  const moved = showing !== view.shown;
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
  if (moved) box.replaceChildren();
  else announce(view, messages);
  view.last = messages.at(-1)?.ts ?? "";
  view.shown = showing;
  const wanted = openWanted(view, messages);
  const list = rows(messages, view.opened, (ts) => view.status.get(ts) ?? {});
  reconcile(box, list, (item) => row(item, {
    names: view.names, people: view.people,
    act: (message, action) => act(view, message, action),
    reply: view.channel.is_archived ? undefined : (message) => reply(view, message),
    remove: (message) => remove(view, message),
    show: (ts) => show(view, view.channel.id, ts),
    toggle: (ts) => { view.opened.has(ts) ? view.opened.delete(ts) : view.opened.add(ts); drawMessages(view, messages); },
  }));
  if (!list.length) box.replaceChildren(el("p", { class: "empty", text: "Nothing has been said here yet." }));
  if (wanted) point(box, wanted);
  else if (moved || atEnd) box.scrollTop = box.scrollHeight;
}

// openWanted opens the thread that a wanted message is in, and answers with its ts once it can be seen.
function openWanted(view, messages) {
  const { wanted } = view;
  if (!wanted) return undefined;
  view.wanted = undefined;
  const message = messages.find((m) => m.ts === wanted);
  if (message?.thread_ts && !message.broadcast) view.opened.add(message.thread_ts);
  if (!message && !messages.some((m) => m.thread_ts === wanted)) notice("That message was deleted.");
  return wanted;
}

// point scrolls to a message and marks it for a moment.
function point(box, ts) {
  const node = box.querySelector(`[data-ts="${ts}"]`);
  node?.scrollIntoView({ block: "center" });
  node?.classList.add("found");
  setTimeout(() => node?.classList.remove("found"), 3000);
}

// toNewestCard goes to the last message that has buttons.
function toNewestCard() {
  const cards = [...byId("messages").querySelectorAll(":scope > .message")].filter((node) => node.querySelector('[data-testid="button"]'));
  const newest = cards.at(-1) ?? byId("messages");
  newest.focus({ preventScroll: true });
  newest.scrollIntoView({ block: "nearest" });
}

// remove deletes a message, as its author or an owner of the workspace can.
async function remove(view, message) {
  const question = { title: { text: "Delete message" }, text: { type: "plain_text", text: "Delete this message for everyone? Its replies stay. The bot gets no event." }, confirm: { text: "Delete" }, deny: { text: "Cancel" }, style: "danger" };
  if (!(await confirm(question, view.names))) return;
  try {
    await post("slack/delete", { user: view.place.user, channel: message.channel, ts: message.ts });
  } catch (error) {
    notice(error.message);
  }
  view.refresh();
}

// announce reads new messages out for screen readers.
function announce(view, messages) {
  const fresh = messages.filter((message) => message.ts > view.last && view.people.get(message.user)?.name !== view.place.user);
  if (fresh.length) byId("announce").textContent = fresh.map((m) => `${view.people.get(m.user)?.real_name}: ${plain(m.text, view.names)}`).join(". ");
}

// act is a click: the confirm dialog first, then the delivery, whose failure leaves a triangle.
async function act(view, message, action) {
  const user = view.place.user;
  const click = { user, channel: message.channel, ts: message.ts, button: action.button };
  if (action.confirm && !(await confirm(action.confirm, view.names))) {
    return;
  }
  mark(view, message.ts, action.key, { busy: true });
  try {
    const delivery = await post("slack/click", click);
    mark(view, message.ts, action.key, delivery.warning ? { warning: delivery.warning } : undefined);
  } catch (error) {
    mark(view, message.ts, action.key, { warning: error.message });
  }
}

// mark keeps the result of the last click of a control, in a message or a view.
function mark(view, where, key, status) {
  view.status.set(where, { ...view.status.get(where), [key]: status });
  view.refresh();
}

// reply makes what is typed next go to the thread of a message; without message to the channel.
function reply(view, message) {
  view.thread = message?.ts;
  byId("replying").hidden = !message;
  if (!message) return;
  byId("replying-to").textContent = `Reply to ${view.people.get(message.user)?.real_name ?? "a message"}: ${plain(message.text.split("\n")[0], view.names)}`;
  byId("composer-text").focus();
}

// send delivers a command or posts a message.
async function send(view, text) {
  notice("");
  const { user, channel } = view.place;
  const [first, ...rest] = text.split(/\s+/);
  try {
    if (first === view.command && view.thread) {
      notice(`Slack has no commands in threads. Mention the bot instead: ${WITH_BOT} ${rest.join(" ")}`);
    } else if (first === view.command) {
      const delivery = await post("slack/command", { user, channel, text: text.slice(first.length).trim() });
      if (delivery.warning) notice(`${first} ${rest.join(" ")}: ${delivery.warning}`);
    } else if (first.startsWith("/")) {
      notice(`${first} is not a command here. Try ${view.command} help, or put a space before it to send it as a message.`);
    } else {
      await post("slack/say", { user, channel, text, thread_ts: view.thread });
      if (view.thread) view.opened.add(view.thread);
    }
  } catch (error) {
    notice(error.message);
  }
  view.refresh();
}
