// The "…" menu of Block Kit.
import { el, icon } from "./dom.js";
import { warning } from "./warning.js";

export function overflow(item, context) {
  const key = `${context.block}/${item.action_id ?? "overflow"}`;
  const status = context.status(key);
  const opener = el("button", {
    type: "button", class: status?.busy ? "button more busy" : "button more", "aria-label": "More actions", "aria-haspopup": "menu", "aria-expanded": "false",
    data: { testid: "overflow", focus: key },
  }, icon("more"));
  const menu = el("ul", { class: "menu", role: "menu", hidden: true }, item.options.map((option) =>
    el("li", { role: "none" }, el("button", {
      type: "button", role: "menuitem", tabindex: "-1", text: option.text.text, data: { testid: "option" },
      on: { click: () => { close(); context.act({ key, button: option.text.text, label: option.text.text, confirm: item.confirm }); } },
    }))));
  const box = el("span", { class: "overflow" }, opener, menu);
  const entries = [...menu.querySelectorAll("button")];

  const outside = (event) => { if (!box.contains(event.target)) close(); };
  function close() {
    menu.hidden = true;
    opener.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside);
  }
  function open() {
    menu.hidden = false;
    place(menu);
    opener.setAttribute("aria-expanded", "true");
    document.addEventListener("pointerdown", outside);
    entries[0]?.focus();
  }
  opener.addEventListener("click", () => (menu.hidden ? open() : close()));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && !menu.hidden) {
      close();
      opener.focus();
    } else if (step) {
      event.preventDefault();
      if (menu.hidden) open();
      else entries[(entries.indexOf(document.activeElement) + step + entries.length) % entries.length].focus();
    }
  });
  return [box, warning(status)];
}

// place keeps a menu within the part of the conversation or view that is seen.
function place(menu) {
  menu.classList.remove("leftward", "downward");
  const box = menu.getBoundingClientRect();
  const seen = menu.closest(".messages, .home, .modal-body").getBoundingClientRect();
  menu.classList.toggle("leftward", box.right > seen.right);
  menu.classList.toggle("downward", box.top < seen.top);
}
