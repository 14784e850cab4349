// Modals and the Home tab: what the bot shows one person, and what they fill in there.
import { post } from "./api.js";
import { blocks } from "./blocks.js";
import { confirm } from "./dialog.js";
import { byId, el, open, reconcile } from "./dom.js";
import { collect, held } from "./fields.js";
import { words } from "./text.js";

// startViews readies the modal; view is the workspace as slack.js keeps it. What is typed stays with its view.
export function startViews(view) {
  view.typed = new Map();
  const dialog = byId("modal");
  byId("modal-form").addEventListener("submit", (event) => { event.preventDefault(); submit(view); });
  byId("modal-close").addEventListener("click", () => close(view, false));
  byId("modal-cross").addEventListener("click", () => close(view, true));
  dialog.addEventListener("cancel", (event) => { event.preventDefault(); close(view, true); });
}

// drawModal shows the chosen user's modal, or none.
export function drawModal(view, modal) {
  const dialog = byId("modal");
  keep(view, byId("modal-body"), view.modal?.id);
  if (modal?.id !== view.modal?.id) say("");
  view.modal = modal ?? undefined;
  if (!modal) {
    if (dialog.open) dialog.close();
    byId("modal-body").replaceChildren();
    return;
  }
  const { title, submit: send, close: leave } = modal.raw;
  byId("modal-title").textContent = words(title);
  byId("modal-submit").hidden = !send;
  byId("modal-submit").textContent = send ? words(send) : "";
  byId("modal-close").textContent = leave ? words(leave) : "Cancel";
  drawBlocks(view, byId("modal-body"), modal);
  if (!dialog.open) open(dialog);
}

// drawHome shows the chosen user's Home tab.
export function drawHome(view, home) {
  const box = byId("home");
  keep(view, box, box.dataset.view);
  if (!home) {
    delete box.dataset.view;
    box.replaceChildren(el("p", { class: "empty", text: "wafbot has not published anything here yet." }));
    return;
  }
  drawBlocks(view, box, home);
}

// keep keeps what is typed in a view that may be redrawn.
function keep(view, box, id) {
  if (id) view.typed.set(id, { ...view.typed.get(id), ...collect(box) });
}

// drawBlocks draws a view's blocks. Those that stay as they are keep their elements, so typing is not interrupted.
function drawBlocks(view, box, shown) {
  if (box.dataset.view !== shown.id) box.replaceChildren();
  box.dataset.view = shown.id;
  const typed = view.typed.get(shown.id) ?? {};
  const errors = shown.errors ?? {};
  const status = view.status.get(shown.id) ?? {};
  const items = shown.raw.blocks.map((block) => ({
    key: block.block_id, block, error: errors[block.block_id], status: Object.fromEntries(Object.entries(status).filter(([key]) => key.startsWith(`${block.block_id}/`))),
  }));
  reconcile(box, items, ({ block }) => el("div", { class: "view-block" }, blocks([block], {
    names: view.names, people: view.people, surface: shown.type, errors,
    held: (item) => typed[item.action_id] ?? held(shown.state.values[block.block_id]?.[item.action_id]),
    status: (key) => status[key],
    act: (action) => act(view, shown, box, action),
    changed: (item) => act(view, shown, box, { key: `${block.block_id}/${item.action_id}`, button: item.action_id, confirm: item.confirm }),
  })));
}

// act is a click in a view, or a change that sends an action.
async function act(view, shown, box, action) {
  if (action.confirm && !(await confirm(action.confirm, view.names))) return;
  const click = { user: view.place.user, view: shown.id, button: action.button, values: collect(box) };
  view.mark(shown.id, action.key, { busy: true });
  try {
    const { warning } = await post("slack/click", click);
    view.mark(shown.id, action.key, warning ? { warning } : undefined);
  } catch (error) {
    view.mark(shown.id, action.key, { warning: error.message });
  }
}

async function submit(view) {
  const { id } = view.modal;
  const button = byId("modal-submit");
  if (button.classList.contains("busy")) return;
  button.classList.add("busy");
  say("");
  try {
    const { outcome, warning } = await post("slack/submit", { user: view.place.user, view: id, values: collect(byId("modal-body")) });
    say(warning);
    await view.refresh();
    if (outcome === "errors" || outcome === "incomplete") showWrong(byId("modal-body").querySelector(".wrong"));
  } catch (error) {
    say(error.message);
  } finally {
    button.classList.remove("busy");
  }
}

// showWrong goes to the first input with which something is wrong.
function showWrong(block) {
  block?.querySelector("input, select, textarea")?.focus({ preventScroll: true });
  block?.scrollIntoView({ block: "nearest" });
}

async function close(view, all) {
  try {
    await post("slack/close", { user: view.place.user, all });
  } catch (error) {
    say(error.message);
  }
  view.refresh();
}

function say(text) {
  byId("modal-notice").hidden = !text;
  byId("modal-notice").textContent = text ?? "";
}
