// Block Kit's text objects.
import { el } from "./dom.js";
import { emoji } from "./emoji.js";
import { mrkdwn } from "./mrkdwn.js";

// text draws a text object of either type.
export const text = (object, context) => (object.type === "mrkdwn" ? mrkdwn(object.text, context.names, object.verbatim) : plain(object));

// words is a plain text as a string, for what takes no elements.
export const words = (object) => (object.emoji === false ? object.text : object.text.replace(/:([a-z0-9_+'-]+):/g, (_, code) => emoji(code)));

export const plain = (object) => words(object).split("\n").flatMap((line, i) => (i ? [el("br"), line] : [line]));
