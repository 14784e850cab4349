// Starts attacks and sets faults of both sides.
import { get, post } from "./api.js";
import { byId, el } from "./dom.js";

// startControls fills the two panels.
export async function startControls(place, refreshService) {
  const [{ scenarios }, faults] = await Promise.all([get("scenarios"), get("faults")]);
  byId("scenarios").replaceChildren(...[...Map.groupBy(scenarios, (scenario) => scenario.group)].map(([group, list]) => scenarioGroup(group, list, place, refreshService)));
  byId("end-all").addEventListener("click", () => endAll(place, refreshService));
  byId("faults").append(...faultForm(faults.menu));
  byId("faults").addEventListener("submit", (event) => { event.preventDefault(); setFault(event.target, place); });
  showSet(faults.set);
}

function scenarioGroup(group, list, place, refreshService) {
  return el("section", {}, el("h4", { text: group }), el("ul", { class: "scenarios" }, list.map((scenario) => scenarioRow(scenario, place, refreshService))));
}

async function endAll(place, refreshService) {
  try {
    const { stopped } = await post("attacks/stop", { account: place.account });
    byId("end-all-outcome").textContent = `${stopped} ended on ${place.account}`;
  } catch (error) {
    byId("end-all-outcome").textContent = error.message;
  }
  refreshService();
}

function scenarioRow(scenario, place, refreshService) {
  const outcome = el("span", { class: "aside", role: "status" });
  const start = async () => {
    try {
      const { attacks } = await post(`scenarios/${scenario.name}`, { account: place.account });
      outcome.textContent = attacks.length > 1 ? `${attacks.length.toLocaleString()} attacks started on ${place.account}` : attacks.length ? `started on ${place.account}` : `done on ${place.account}`;
      showSet((await get("faults")).set);
    } catch (error) {
      outcome.textContent = error.message;
    }
    refreshService();
  };
  return el("li", {}, el("button", { type: "button", class: "small", text: scenario.title, data: { testid: `scenario-${scenario.name}` }, on: { click: start } }),
    el("span", {}, scenario.does, " ", el("em", { text: scenario.look }), " ", outcome));
}

function faultForm(menu) {
  const kinds = el("select", { id: "fault-kind", name: "kind", data: { testid: "fault-kind" } });
  const side = el("select", { id: "fault-side", name: "side", data: { testid: "fault-side" } },
    el("option", { value: "service", text: "the service" }), el("option", { value: "slack", text: "Slack" }));
  const fill = () => kinds.replaceChildren(...menu[side.value].map(({ kind, does }) => el("option", { value: kind, text: `${kind}: ${does}` })));
  side.addEventListener("change", fill);
  fill();
  const times = el("input", { id: "fault-times", name: "times", type: "number", min: "0", max: "1000", value: "1" });
  return [
    field("Side", side), field("What happens", kinds), field("Times (0: until cleared)", times),
    el("div", { class: "fault-buttons" },
      el("button", { type: "submit", class: "small strong", text: "Set", data: { testid: "fault-set" } }),
      el("button", { type: "button", class: "small", text: "Clear all", data: { testid: "fault-clear" }, on: { click: () => change("faults/clear") } })),
    el("p", { class: "aside", id: "fault-list", role: "status" }),
  ];
}

const field = (label, control) => el("div", { class: "field" }, el("label", { for: control.id, text: label }), control);

function setFault(form, place) {
  const { side, kind, times } = Object.fromEntries(new FormData(form));
  const fault = { kind, times: Number(times) };
  change(`faults/${side}`, side === "service" ? { ...fault, account: place.account } : fault);
}

async function change(path, body) {
  try {
    await post(path, body);
    showSet((await get("faults")).set);
  } catch (error) {
    byId("fault-list").textContent = error.message;
  }
}

function showSet(set) {
  const all = [...set.service.map((f) => ["service", f.account, f.kind, f.endpoint].filter(Boolean).join(" ")), ...set.slack.map((f) => `Slack ${f.kind}`)];
  byId("fault-list").textContent = all.length ? `Set: ${all.join(", ")}` : "None is set.";
  byId("fault-count").hidden = !all.length;
  byId("fault-count").textContent = String(all.length);
}
