// Building elements: data only ever becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

const ICONS = {
  eye: "M1.500 8S4 3.500 8 3.500 14.500 8 14.500 8 12 12.500 8 12.500 1.500 8 1.500 8zM8 10a2 2 0 100-4 2 2 0 000 4z",
  lock: "M4 7.500h8v6H4zM5.500 7.500V5a2.500 2.500 0 015 0v2.500",
  warning: "M8 2.500l6 11H2zM8 7v3M8 11.800v.2",
  send: "M2.500 13.500l11.500-5.500-11.500-5.500 1.500 5.500zM4 8h5",
  more: "M3.500 8h.01M8 8h.01M12.500 8h.01",
  cross: "M4 4l8 8M12 4l-8 8",
  home: "M2.500 7.500L8 3l5.500 4.500M4 7v6h8V7",
  trash: "M3 4.500h10M6.500 4.500V3h3v1.500M4.500 4.500l.6 8.500h5.800l.6-8.500",
  bell: "M4 11.500V7.500a4 4 0 018 0v4l1 1H3zM6.800 14h2.400",
  reply: "M6.500 4L3 7.500 6.500 11M3 7.500h6a4 4 0 014 4v1",
};

// el builds an element. Props: class, text, on (listeners), data (data-*); anything else is an attribute.
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key === "text") node.textContent = value;
    else if (key === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (key === "data") Object.assign(node.dataset, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export function icon(name) {
  return svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

export const byId = (id) => document.getElementById(id);

// reconcile makes a container's children those of items, keeping nodes whose key and signature stayed the same.
// Focus within a replaced node goes to the same control of the new one. An item's live text changes without
// replacing its node, so that a press on a button beside it isn't lost.
export function reconcile(container, items, build) {
  const old = new Map([...container.children].map((node) => [node.dataset.key, node]));
  const wanted = items.map(({ live, ...item }) => {
    const signature = JSON.stringify(item);
    const present = old.get(item.key);
    const kept = present?.signature === signature;
    const node = kept ? present : build(item);
    node.dataset.key = item.key;
    node.signature = signature;
    if (present && !kept) replaceKeepingFocus(present, node);
    if (live !== undefined) node.querySelector("[data-live]").textContent = live;
    return node;
  });
  for (const node of [...container.children]) if (!wanted.includes(node)) node.remove();
  wanted.forEach((node, i) => {
    if (container.children[i] !== node) container.insertBefore(node, container.children[i] ?? null);
  });
}

function replaceKeepingFocus(before, after) {
  const focused = before.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  before.replaceWith(after);
  if (focused) control(after, focused)?.focus({ preventScroll: true });
}

// control is the control of that name in a node, else the node itself: a button may be gone when what it did is done.
const control = (node, name) => node.querySelector(`[data-focus="${CSS.escape(name)}"]`) ?? node;

// open shows a dialog. When it closes, the focus is where it was, also where that was drawn anew meanwhile.
export function open(dialog) {
  const from = document.activeElement;
  const item = from.closest("[data-key]");
  const container = item?.parentElement;
  dialog.addEventListener("close", () => {
    const drawn = container && [...container.children].find((node) => node.dataset.key === item.dataset.key);
    const to = from.isConnected ? from : drawn && control(drawn, from.dataset.focus ?? "");
    to?.focus({ preventScroll: true });
  }, { once: true });
  dialog.showModal();
}
