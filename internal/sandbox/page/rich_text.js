// The rich_text block: what Slack's own editor makes.
import { el } from "./dom.js";
import { emoji } from "./emoji.js";
import { formatDate, link } from "./mrkdwn.js";

export function richText(elements, names) {
  return elements.map((part) => {
    switch (part.type) {
      case "rich_text_section": return el("p", {}, pieces(part.elements, names));
      case "rich_text_quote": return el("blockquote", {}, pieces(part.elements, names));
      case "rich_text_preformatted": return el("pre", {}, pieces(part.elements, names));
      case "rich_text_list": return list(part, names);
      default: return undefined;
    }
  });
}

function list(part, names) {
  const node = el(part.style === "ordered" ? "ol" : "ul", {}, part.elements.map((item) => el("li", {}, pieces(item.elements, names))));
  node.style.setProperty("--indent", part.indent ?? 0);
  return node;
}

const pieces = (elements, names) => elements.map((piece) => styled(piece, names));

function styled(piece, names) {
  let node = bare(piece, names);
  for (const [style, tag] of [["code", "code"], ["bold", "strong"], ["italic", "em"], ["strike", "s"]]) {
    if (piece.style?.[style]) node = el(tag, {}, node);
  }
  return node;
}

function bare(piece, names) {
  const mention = (text) => el("span", { class: "mention", text });
  switch (piece.type) {
    case "text": return el("span", { class: "text", text: piece.text });
    case "link": return link(piece.url, piece.text ?? piece.url);
    case "emoji": return document.createTextNode(emoji(piece.name));
    case "user": return mention("@" + (names.user(piece.user_id) ?? piece.user_id));
    case "channel": return mention("#" + (names.channel(piece.channel_id) ?? piece.channel_id));
    case "usergroup": return mention("@" + piece.usergroup_id);
    case "broadcast": return mention("@" + piece.range);
    case "date": return document.createTextNode(formatDate(new Date(piece.timestamp * 1000), piece.format));
    default: return document.createTextNode("");
  }
}
