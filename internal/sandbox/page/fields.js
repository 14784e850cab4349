// What can be filled in: the inputs of modals and Home tabs, and selects outside of inputs.
import { el } from "./dom.js";
import { text, words } from "./text.js";
import { warning } from "./warning.js";

// readers return the value of a drawn field: a text, or a list of texts where several can be chosen.
const readers = new WeakMap();

// collect reads all fields of a part of the page, by action id.
export const collect = (root) =>
  Object.fromEntries([...root.querySelectorAll("[data-field]")].map((node) => [node.dataset.field, readers.get(node)()]));

const FIELDS = {
  plain_text_input: (item, f) => (item.multiline ? typed("textarea", item, f, { rows: "3" }) : typed("input", item, f, { type: "text" })),
  number_input: (item, f) => typed("input", item, f, { type: "text", inputmode: item.is_decimal_allowed ? "decimal" : "numeric" }),
  email_text_input: (item, f) => typed("input", item, f, { type: "text", inputmode: "email" }),
  url_text_input: (item, f) => typed("input", item, f, { type: "text", inputmode: "url" }),
  datepicker: (item, f) => typed("input", item, f, { type: "date" }),
  timepicker: (item, f) => typed("input", item, f, { type: "time" }),
  static_select: (item, f) => select(item, f, groups(item)),
  multi_static_select: (item, f) => choices(item, f, groups(item), "checkbox", "fill-list"),
  radio_buttons: (item, f) => choices(item, f, groups(item), "radio", "fill-choices"),
  checkboxes: (item, f) => choices(item, f, groups(item), "checkbox", "fill-choices"),
  users_select: (item, f) => select(item, f, people(f)),
  multi_users_select: (item, f) => choices(item, f, people(f), "checkbox", "fill-list"),
};

export const isField = (item) => item.type in FIELDS;

// field draws an element that can be filled in. The context has names, people, held (what it holds) and changed (what to do when that
// changes), and of an input its label's id and what describes it.
export function field(item, context) {
  const held = context.held(item);
  const own = { ...context, held: item.type.startsWith("multi_") || item.type === "checkboxes" ? held ?? [] : held ?? "" };
  const node = FIELDS[item.type](item, own);
  node.dataset.field = item.action_id;
  node.dataset.testid = "field";
  node.addEventListener("change", () => context.changed(item));
  return node;
}

// input draws an input block: label, element, what is wrong with it, hint.
export function input(block, context) {
  if (!isField(block.element)) return undefined;
  const id = `${context.surface}-${block.element.action_id}`;
  const error = context.errors[block.block_id];
  const described = [error && `${id}-error`, block.hint && `${id}-hint`].filter(Boolean).join(" ");
  const changed = block.dispatch_action ? context.changed : () => {};
  return el("div", { class: error ? "block fill wrong" : "block fill", data: { testid: "input", block: block.block_id } },
    el("label", { class: "fill-label", id: `${id}-label`, for: id }, words(block.label), block.optional && el("span", { class: "aside", text: " (optional)" })),
    field(block.element, { ...context, id, label: `${id}-label`, described, wrong: Boolean(error), changed }),
    warning(context.status(`${block.block_id}/${block.element.action_id}`)),
    error && el("p", { class: "fill-error", id: `${id}-error`, text: error, data: { testid: "field-error" } }),
    block.hint && el("p", { class: "fill-hint", id: `${id}-hint`, text: words(block.hint) }));
}

// describing is a control's text for screen readers.
const describing = (f) => ({ id: f.id, "aria-describedby": f.described || undefined, "aria-invalid": f.wrong ? "true" : undefined });

function typed(tag, item, f, props) {
  const node = el(tag, { class: "fill-text", placeholder: item.placeholder && words(item.placeholder), autocomplete: "off", spellcheck: "false", ...describing(f), ...props, data: { focus: item.action_id } });
  node.value = f.held;
  readers.set(node, () => node.value);
  return node;
}

function select(item, f, parts) {
  const option = (choice) => el("option", { value: choice.value, selected: choice.value === f.held, text: choice.label });
  const first = el("option", { value: "", text: item.placeholder ? words(item.placeholder) : "Choose…" });
  const node = el("select", { class: "fill-text", "aria-label": f.label ? undefined : item.placeholder && words(item.placeholder), ...describing(f), data: { focus: item.action_id } },
    first, parts.map((part) => (part.label ? el("optgroup", { label: part.label }, part.choices.map(option)) : part.choices.map(option))));
  readers.set(node, () => node.value);
  return node;
}

// choices is one row for each choice, of which one or several can be marked.
function choices(item, f, parts, type, look) {
  const held = [f.held].flat();
  const row = (choice) => el("label", { class: "fill-choice" },
    el("input", { type, name: `${f.surface}-${item.action_id}`, value: choice.value, checked: held.includes(choice.value), data: { focus: `${item.action_id}/${choice.value}` } }),
    el("span", {}, choice.shown?.(f) ?? choice.label, choice.description && el("span", { class: "aside", text: choice.description })));
  const node = el("div", { class: look, role: type === "radio" ? "radiogroup" : "group", "aria-labelledby": f.label, ...describing(f) },
    parts.map((part) => [part.label && el("p", { class: "fill-part", text: part.label }), part.choices.map(row)]));
  readers.set(node, () => {
    const marked = [...node.querySelectorAll("input:checked")].map((box) => box.value);
    return type === "radio" ? marked[0] ?? "" : marked;
  });
  return node;
}

// groups are the options of an element, under the labels of their groups.
function groups(item) {
  const of = (options) => options.map((option) => ({
    value: option.value, label: words(option.text), shown: (context) => text(option.text, context), description: option.description && words(option.description),
  }));
  return item.option_groups ? item.option_groups.map((group) => ({ label: words(group.label), choices: of(group.options) })) : [{ choices: of(item.options) }];
}

const people = (f) => [{ choices: [...f.people.values()].filter((person) => !person.deleted).map((person) => ({ value: person.id, label: person.real_name })) }];

// held is what a field's state in a payload says, as collect would.
export function held(entry) {
  const value = (option) => option?.value;
  return entry?.value ?? value(entry?.selected_option) ?? entry?.selected_options?.map(value) ?? entry?.selected_user ?? entry?.selected_users ??
    entry?.selected_date ?? entry?.selected_time ?? undefined;
}
