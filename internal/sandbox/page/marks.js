// The mitigations that the traffic chart marks: what came into force, or ended, within its window.
import { WINDOW } from "./traffic.js";

const LISTS = { black: "deny", white: "allow", gray: "gray" };

// startMarks returns a function from a state to its marks, oldest first. It keeps the marks of mitigations that have
// ended, because they leave the lists.
export function startMarks() {
  const seen = new Map();
  return function look(state) {
    const now = Date.parse(state.time) / 1000;
    const note = (key, at, text) => { if (at > 0 && at <= now) seen.set(`${state.account}/${key}/${text}`, { account: state.account, at, text }); };
    const mark = (key, name, item) => {
      note(key, item.in_force_at, name);
      note(key, item.ends_at ?? 0, `end of ${name}`);
    };
    for (const entry of state.ip_rules) mark(`entry/${entry.id}`, `${LISTS[entry.list] ?? entry.list} ${entry.subnet.replace(/\/32$/, "") || entry.source_values.join(", ")}`, entry);
    for (const rule of state.rules) if (!rule.system) mark(`rule/${rule.id}`, rule.mode ? `mode ${rule.mode}` : [rule.type.replaceAll("_", " "), rule.attack_type].filter(Boolean).join(" "), rule);
    for (const [key, mark] of seen) if (mark.at < now - WINDOW) seen.delete(key);
    return [...seen.values()].filter((mark) => mark.account === state.account).sort((a, b) => a.at - b.at).map((mark) => ({ text: mark.text, ago: now - mark.at }));
  };
}
