// The line to type in: Enter sends, Shift+Enter breaks the line, arrow up brings back what was sent.
import { byId, el, icon } from "./dom.js";

const TRIES = ["/waf status", "/waf help", "@wafbot attacks"];
const HISTORY = "wafbot-history";
const DRAFT = "wafbot-draft";

export function startComposer(send) {
  const text = byId("composer-text");
  const sent = JSON.parse(sessionStorage.getItem(HISTORY) ?? "[]");
  let at = sent.length;

  // changed keeps what is typed over a reload, and fits the box to it.
  const changed = () => {
    sessionStorage.setItem(DRAFT, text.value);
    text.style.height = "";
    if (text.value) text.style.height = Math.min(text.scrollHeight, 140) + "px";
  };
  const put = (value) => {
    text.value = value;
    text.setSelectionRange(value.length, value.length);
    changed();
  };
  const submit = () => {
    const value = text.value;
    if (!value.trim() || text.disabled) return;
    sent.push(value);
    sessionStorage.setItem(HISTORY, JSON.stringify(sent.slice(-50)));
    at = sent.length;
    put("");
    send(value);
  };
  const recall = (step) => {
    at = Math.max(0, Math.min(sent.length, at + step));
    put(sent[at] ?? "");
  };

  byId("composer").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  text.addEventListener("input", changed);
  text.addEventListener("keydown", (event) => {
    const recalled = text.value === (sent[at] ?? "");
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    } else if (event.key === "ArrowUp" && recalled) {
      event.preventDefault();
      recall(-1);
    } else if (event.key === "ArrowDown" && recalled && at < sent.length) {
      event.preventDefault();
      recall(1);
    }
  });
  document.querySelector(".send").append(icon("send"));
  put(sessionStorage.getItem(DRAFT) ?? "");
  byId("tries").append("Try ", ...TRIES.map((line) => el("button", {
    type: "button", text: line, on: { click: () => { put(line); text.focus(); } },
  })));
}
