// Counts down to when a change takes effect. The service shows only whether it has; how long
// that takes is known, and when it began is when this page saw it first.

// startPending returns a function from a state to the text for each entry and rule.
export function startPending() {
  const since = new Map();
  return function look(state) {
    const now = Date.parse(state.time) / 1000;
    const left = (key, delay, began = now) => {
      if (!since.has(key)) since.set(key, began);
      return Math.ceil(since.get(key) + delay - now);
    };
    const say = (item, seconds) => {
      const wait = seconds > 0 ? `in ${span(seconds)}` : "any moment";
      return item.listed ? `accepted, takes effect ${wait}` : `removed, ends ${wait}`;
    };
    const settled = (item) => item.listed === item.in_force;
    return {
      entry: (entry) => settled(entry) ? "" : say(entry, left(`${state.account}/entry/${entry.id}/${entry.listed}`, state.list_delay, entry.listed ? entry.created_at : now)),
      rule: (rule) => settled(rule) ? "" : say(rule, left(`${state.account}/rule/${rule.id}/${rule.listed}`, state.rule_delay)),
    };
  };
}

const span = (seconds) => (seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`);

// covers reports whether a prefix holds an address: of version 4 by its bits, of version 6 only single addresses.
export function covers(subnet, ip) {
  const [base, length] = subnet.split("/");
  if (ip.includes(":") || base.includes(":")) return base === ip;
  const bits = (address) => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - Number(length ?? 32));
  return Math.floor(bits(base) / size) === Math.floor(bits(ip) / size);
}
