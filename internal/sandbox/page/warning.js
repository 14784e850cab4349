import { el, icon } from "./dom.js";

// warning is the triangle next to a control whose click was not acknowledged.
export const warning = (status) =>
  status?.warning && el("span", { class: "warning", role: "img", "aria-label": status.warning, title: status.warning, data: { testid: "warning" } }, icon("warning"));
