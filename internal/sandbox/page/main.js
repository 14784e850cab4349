// Starts both sides, keeps them fresh and keeps user, channel and account in the address.
import { post } from "./api.js";
import { byId, el } from "./dom.js";
import { keepDatesFresh } from "./dates.js";
import { startSlack } from "./slack.js";
import { startService } from "./service.js";
import { startControls } from "./controls.js";
import { drawGroups } from "./groups.js";

const SERVICE_EVERY = 1000; // milliseconds

const place = { user: "rob", channel: "waf", account: "acme", ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) };

const refreshSlack = startSlack(place, { onState: (state) => { lead(state.deliver || state.links, state.speed); unverified(state); drawGroups(state); } });
const refreshService = startService(place);
startControls(place, refreshService);

refreshSlack();
refreshService();
keepDatesFresh();
setInterval(refreshService, SERVICE_EVERY);
new EventSource("/sandbox/events").addEventListener("changed", (event) => {
  if (JSON.parse(event.data).slack) refreshSlack();
});

// lead says what wafbot is, what this page is, and what to do first.
function lead(bot, speed) {
  byId("lead").textContent = [
    "wafbot brings each attack on your cloud WAF to Slack as a card, and does what you press.",
    speed === 1 ? "Nothing here is real." : `Nothing here is real, and time runs ${speed} times faster.`,
    bot
      ? "You start as Rob, who is on call: press a button of the newest card, and watch on the service’s side how that source turns from red to green."
      : "No bot is connected yet: start one with the environment that was printed. Attacks can be started on the service’s side meanwhile.",
  ].join(" ");
}

// unverified says that Slack sends no events, because the bot wasn't there when Slack asked, and offers to ask again.
function unverified(state) {
  if (state.events) return;
  const retry = () => post("slack/verify_url", {}).then(({ warning }) => warning && (byId("lead").lastChild.textContent = `Retry: ${warning}`));
  byId("lead").append(" Slack has not verified the events address yet, so it sends no mentions and opens no Home tab: ",
    el("button", { type: "button", class: "small", text: "Retry", data: { testid: "verify" }, on: { click: retry } }));
}

// On a phone one side is shown at a time.
const tabs = [...document.querySelectorAll(".sides [role=tab]")];
if (place.side) show(tabs.find((tab) => tab.getAttribute("aria-controls") === place.side) ?? tabs[0]);
for (const tab of tabs) {
  tab.addEventListener("click", () => show(tab));
  tab.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const other = tabs[1 - tabs.indexOf(tab)];
      show(other);
      other.focus();
    }
  });
}

function show(chosen) {
  document.body.dataset.side = chosen.getAttribute("aria-controls");
  for (const tab of tabs) tab.setAttribute("aria-selected", String(tab === chosen));
}
