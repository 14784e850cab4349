// Block Kit as the Slack client draws it.
import { el } from "./dom.js";
import { field, input, isField } from "./fields.js";
import { link, mrkdwn } from "./mrkdwn.js";
import { plain, text } from "./text.js";
import { richText } from "./rich_text.js";
import { overflow } from "./overflow.js";
import { permalink } from "./permalinks.js";
import { warning } from "./warning.js";

// blocks draws a list of blocks. The context has names (what ids are called), act (what to do on a click)
// and status (the result of the last click of a control); of a view also what its fields need, see fields.js.
export function blocks(list, context) {
  return (list ?? []).map((block, i) => {
    const draw = BLOCKS[block.type];
    return draw ? draw(block, { ...context, block: block.block_id ?? String(i) }) : undrawn(block.type);
  });
}

// attachments are the older way to a colour bar.
export function attachments(list, context) {
  return (list ?? []).map((attachment) => {
    const inner = attachment.blocks ? blocks(attachment.blocks, context) : plainAttachment(attachment, context);
    const node = el("div", { class: "attachment" }, el("div", { class: "attachment-body" }, inner));
    node.style.setProperty("--bar", colour(attachment.color));
    return node;
  });
}

function colour(value) {
  const named = { good: "#2eb886", warning: "#daa038", danger: "#a30200" };
  return named[value] ?? (/^#?[0-9a-f]{6}$/i.test(value ?? "") ? "#" + value.replace("#", "") : "#8d8d8d");
}

function plainAttachment(attachment, { names }) {
  return [
    attachment.title && el("p", { class: "attachment-title" }, attachment.title_link ? link(attachment.title_link, attachment.title) : attachment.title),
    el("p", {}, mrkdwn(attachment.text ?? attachment.fallback ?? "", names)),
  ];
}

const BLOCKS = {
  header: (block) => el("h4", { class: "block header" }, plain(block.text)),
  divider: () => el("hr", { class: "block" }),
  section,
  context: (block, context) => el("div", { class: "block context" }, block.elements.map((item) =>
    item.type === "image" ? image(item) : el("span", {}, text(item, context)))),
  actions: (block, context) => el("div", { class: "block actions" }, block.elements.map((item) => control(item, context))),
  image: (block) => el("div", { class: "block" }, image(block)),
  input: (block, context) => (context.held && input(block, context)) || undrawn(block.element.type),
  rich_text: (block, context) => el("div", { class: "block" }, richText(block.elements, context.names)),
};

const undrawn = (type) => el("p", { class: "block undrawn", text: `(a ${type} is not drawn here)` });

function section(block, context) {
  return el("div", { class: "block section" },
    el("div", { class: "section-text" },
      block.text && el("div", {}, text(block.text, context)),
      block.fields && el("div", { class: "fields" }, block.fields.map((field) => el("div", {}, text(field, context))))),
    block.accessory && el("div", { class: "accessory" }, control(block.accessory, context)));
}

// image shows a placeholder: the page fetches nothing from outside.
const image = (block) => el("span", { class: "picture", role: "img", "aria-label": block.alt_text, text: block.alt_text });

function control(item, context) {
  if (item.type === "image") return image(item);
  if (item.type === "button") return button(item, context);
  if (item.type === "overflow") return overflow(item, context);
  if (context.held && isField(item)) return [field(item, context), warning(context.status(`${context.block}/${item.action_id}`))];
  return undrawn(item.type);
}

function button(item, context) {
  const key = `${context.block}/${item.action_id ?? item.value ?? item.text.text}`;
  const status = context.status(key);
  const act = () => context.act({ key, button: item.action_id ?? item.text.text, label: item.text.text, confirm: item.confirm });
  const props = {
    class: ["button", item.style, status?.busy && "busy"].filter(Boolean).join(" "),
    title: item.text.text, "aria-label": item.accessibility_label, "aria-busy": status?.busy ? "true" : undefined,
    data: { testid: "button", focus: item.text.text, action: item.action_id ?? "" }, on: { click: act },
  };
  const here = permalink(item.url ?? "");
  const drawn = here ? el("a", { ...props, href: item.url, data: { ...props.data, ...here } }, plain(item.text))
    : item.url && /^https?:\/\//i.test(item.url)
    ? el("a", { ...props, href: item.url, target: "_blank", rel: "noopener noreferrer" }, plain(item.text))
    : el("button", { ...props, type: "button" }, plain(item.text));
  return [drawn, warning(status)];
}
