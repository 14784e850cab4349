// Links to messages of this workspace. There is no Slack behind them, so the page opens the message.

const PERMALINK = /^https:\/\/[a-z0-9-]+\.slack\.com\/archives\/([A-Z0-9]+)\/p(\d{10})(\d{6})(?:[?#]|$)/;

// permalink is the place that an address of a message names, as the data attributes of what leads there.
export function permalink(address) {
  const [, place, seconds, micros] = PERMALINK.exec(address) ?? [];
  return place && { place, message: `${seconds}.${micros}` };
}

// followPermalinks calls go(channel id, ts) instead of following the link.
export function followPermalinks(go) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-place]");
    if (!link) return;
    event.preventDefault();
    go(link.dataset.place, link.dataset.message);
  });
}
