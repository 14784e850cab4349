// Who is in which user group.
import { post } from "./api.js";
import { byId, el, reconcile } from "./dom.js";

// drawGroups lists the user groups of a workspace with all possible members.
export function drawGroups({ user_groups: groups, users }) {
  const people = users.filter((user) => !user.is_bot).map(({ id, name, real_name: real }) => ({ id, name, real }));
  reconcile(byId("groups"), groups.map((group) => ({ key: group.id, group, people })), ({ group }) =>
    el("fieldset", { class: "group" }, el("legend", {}, el("strong", { text: `@${group.handle}` }), el("span", { class: "aside", text: ` ${group.id}` })),
      people.map((person) => el("label", {}, el("input", {
        type: "checkbox", value: person.name, checked: group.users.includes(person.id),
        data: { testid: `group-${group.handle}-${person.name}`, focus: person.name }, on: { change: (event) => change(group, event.target.closest("fieldset")) },
      }), person.real))));
}

async function change(group, box) {
  const users = [...box.querySelectorAll("input:checked")].map((input) => input.value);
  try {
    await post("slack/group", { group: group.id, users });
    byId("groups-outcome").textContent = `@${group.handle}: ${users.length} of ${box.querySelectorAll("input").length}`;
  } catch (error) {
    byId("groups-outcome").textContent = error.message;
  }
}
