// The rich_text block: what Slack's own editor makes.
import { el } from "./dom.js";
import { emoji } from "./emoji.js";
import { dateNode } from "./dates.js";
import { link, mention } from "./mrkdwn.js";

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
  switch (piece.type) {
    case "text": return el("span", { class: "text", text: piece.text });
    case "link": return link(piece.url, piece.text ?? piece.url);
    case "emoji": return document.createTextNode(emoji(piece.name));
    case "user": return mention("@" + (names.user(piece.user_id) ?? piece.user_id), names.isMe(piece.user_id) && "me");
    case "channel": return mention("#" + (names.channel(piece.channel_id) ?? piece.channel_id));
    case "usergroup": return mention("@" + (names.group(piece.usergroup_id) ?? piece.usergroup_id), names.isMine(piece.usergroup_id) && "me");
    case "broadcast": return mention("@" + piece.range, "everyone");
    case "date": return dateNode({ seconds: piece.timestamp, format: piece.format, fallback: piece.fallback ?? "", address: piece.url }, link);
    default: return document.createTextNode("");
  }
}
