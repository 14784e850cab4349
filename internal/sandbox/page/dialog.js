// Slack's confirm dialog.
import { byId, open } from "./dom.js";
import { mrkdwn } from "./mrkdwn.js";

// confirm asks as a button's confirm object says and resolves to yes or no; Escape is no.
export function confirm(question, names) {
  const dialog = byId("confirm");
  const ok = byId("confirm-ok");
  byId("confirm-title").textContent = question.title.text;
  byId("confirm-text").replaceChildren(...(question.text.type === "mrkdwn" ? mrkdwn(question.text.text, names) : [question.text.text]));
  ok.textContent = question.confirm.text;
  ok.className = "button " + (question.style === "danger" ? "danger" : "primary");
  byId("confirm-cancel").textContent = question.deny.text;
  dialog.returnValue = "";
  ok.onclick = () => dialog.close("yes");
  byId("confirm-cancel").onclick = () => dialog.close("no");
  open(dialog);
  ok.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
