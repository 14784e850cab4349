// Slack's mrkdwn as elements, as the Slack client draws it.
import { dateNode } from "./dates.js";
import { el } from "./dom.js";
import { emoji } from "./emoji.js";
import { permalink } from "./permalinks.js";

const INLINE = new RegExp(
  [
    "```(?<pre>[\\s\\S]+?)```",
    "`(?<code>[^`\\n]+)`",
    "<(?<token>[^<>\\n]+)>",
    ":(?<emoji>[a-z0-9_+'-]+):",
    mark("\\*", "bold"),
    mark("_", "italic"),
    mark("~", "strike"),
    "(?<url>https?://[^\\s<>|*_~`]*[^\\s<>|*_~`.,;:!?)\\]])",
  ].join("|"),
  "gu",
);

// mark is what a pair of marks encloses: no space inside at its ends, no letter or digit outside.
function mark(sign, name) {
  return `(?<![\\p{L}\\p{N}])${sign}(?<${name}>(?=\\S)[^\\n]*?\\S)${sign}(?![\\p{L}\\p{N}])`;
}

const TAGS = { bold: "strong", italic: "em", strike: "s" };

export const unescape = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

// mrkdwn turns text into nodes; names maps ids to names, verbatim leaves bare addresses alone.
export function mrkdwn(text, names, verbatim = false) {
  const nodes = [];
  for (const part of quotes(text)) {
    const inner = inline(part.text, names, verbatim);
    nodes.push(...(part.quoted ? [el("blockquote", {}, inner)] : inner));
  }
  return nodes;
}

// plain is what mrkdwn reads like, without links and marks.
export const plain = (text, names) => mrkdwn(text, names).map((node) => node.textContent ?? node).join("");

// quotes splits off runs of lines that begin with an escaped ">".
function quotes(text) {
  const parts = [];
  let fenced = false;
  for (const line of text.split("\n")) {
    const quoted = !fenced && line.startsWith("&gt;");
    const bare = quoted ? line.slice(4).replace(/^ /, "") : line;
    if ((line.match(/```/g) ?? []).length % 2) fenced = !fenced;
    const last = parts.at(-1);
    if (last && last.quoted === quoted) last.text += "\n" + bare;
    else parts.push({ quoted, text: bare });
  }
  return parts;
}

function inline(text, names, verbatim) {
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    nodes.push(...lines(text.slice(at, match.index)));
    nodes.push(piece(match, names, verbatim));
    at = match.index + match[0].length;
  }
  nodes.push(...lines(text.slice(at)));
  return nodes;
}

function piece(match, names, verbatim) {
  const { pre, code, token, url, emoji: short } = match.groups;
  if (pre !== undefined) return el("pre", { text: unescape(pre.replace(/^\n|\n$/g, "")) });
  if (code !== undefined) return el("code", { text: unescape(code) });
  if (token !== undefined) return special(token, names);
  if (short !== undefined) return document.createTextNode(emoji(short));
  if (url !== undefined) return verbatim ? document.createTextNode(unescape(url)) : link(unescape(url), unescape(url));
  const [kind, tag] = Object.entries(TAGS).find(([name]) => match.groups[name] !== undefined);
  return el(tag, {}, inline(match.groups[kind], names, verbatim));
}

function lines(text) {
  return text.split("\n").flatMap((line, i) => (i ? [el("br"), unescape(line)] : line ? [unescape(line)] : []));
}

// special is a token between < and >.
function special(token, names) {
  const bar = token.indexOf("|");
  const target = bar < 0 ? token : token.slice(0, bar);
  const label = bar < 0 ? "" : unescape(token.slice(bar + 1));
  if (target.startsWith("@")) return mention("@" + (names.user(target.slice(1)) ?? (label || target.slice(1))), names.isMe(target.slice(1)) && "me");
  if (target.startsWith("#")) return mention("#" + (names.channel(target.slice(1)) ?? (label || target.slice(1))));
  if (target.startsWith("!date^")) return bar < 0 ? document.createTextNode(`<${token}>`) : date(target, label);
  if (target.startsWith("!subteam^")) return mention(label || "@" + (names.group(target.slice(9)) ?? target.slice(9)), names.isMine(target.slice(9)) && "me");
  if (target.startsWith("!")) return mention("@" + target.slice(1), "everyone");
  return link(unescape(target), label || unescape(target));
}

// mention classifies a mention: "me" for the chosen user, "everyone", or neither.
export const mention = (text, whom) => el("span", { class: ["mention", whom].filter(Boolean).join(" "), text });

// link opens only safe addresses; one of this workspace leads to its message.
export function link(address, label) {
  const here = permalink(address);
  if (here) return el("a", { href: address, data: here, text: label });
  if (!/^(https?:\/\/|mailto:)/i.test(address)) return document.createTextNode(label);
  return el("a", { href: address, target: "_blank", rel: "noopener noreferrer", text: label });
}

function date(target, fallback) {
  const [, seconds, format, address] = target.split("^");
  return dateNode({ seconds, format: unescape(format ?? ""), fallback, address: address && unescape(address) }, link);
}
