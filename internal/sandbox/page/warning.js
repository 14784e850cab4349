import { el, icon } from "./dom.js";

// warning is the triangle beside a control whose click didn't get through.
export const warning = (status) =>
  status?.warning && el("span", { class: "warning", role: "img", "aria-label": status.warning, title: status.warning, data: { testid: "warning" } }, icon("warning"));
