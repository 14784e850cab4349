// The Bolt app that all cases use, and what they have in common.
import bolt from '@slack/bolt';
import { button, inbox, plain, silent } from '../../world.mjs';

export const waf = 'C0WAF0001';
export const ann = 'U0ANN0001';

// startApp starts a Bolt app whose listeners call what a case has set, and acknowledge what no case waits for.
export async function startApp(world, way) {
  const clientOptions = { slackApiUrl: world.slackApiUrl };
  const kinds = Object.fromEntries(['command', 'action', 'submission', 'closed', 'event', 'message'].map((kind) => [kind, { got: inbox(), then: null }]));
  const receiver =
    way === 'HTTP'
      ? new bolt.HTTPReceiver({ signingSecret: world.signingSecret, endpoints: ['/slack/commands', '/slack/interactions', '/slack/events'], logger: silent, processBeforeResponse: true })
      : new bolt.SocketModeReceiver({ appToken: world.appToken, installerOptions: { clientOptions }, logger: silent, clientPingTimeout: 30_000 }); // no new link on a busy machine
  const app = new bolt.App({ token: world.botToken, receiver, clientOptions, logger: silent });
  const listener = (kind) => async (args) => {
    kind.got.put(args);
    if (kind.then) await kind.then(args);
    else await args.ack?.();
  };
  app.command('/waf', listener(kinds.command));
  app.action(/.*/, listener(kinds.action));
  app.view({ callback_id: /.*/, type: 'view_submission' }, listener(kinds.submission));
  app.view({ callback_id: /.*/, type: 'view_closed' }, listener(kinds.closed));
  app.message(listener(kinds.message));
  for (const type of ['app_mention', 'app_home_opened', 'subteam_updated', 'subteam_members_changed']) app.event(type, listener(kinds.event));
  app.error(async (error) => {
    throw error;
  });
  const started = await app.start(way === 'HTTP' ? { port: 0, host: '127.0.0.1' } : undefined);
  if (way === 'HTTP') await world.post('/sandbox/deliver', { url: `http://127.0.0.1:${started.address().port}` });
  return { app, kinds, stop: () => app.stop() };
}

// answering has a listener do that, for one case.
export async function answering(kind, then, play) {
  kind.then = then;
  try {
    return await play();
  } finally {
    kind.then = null;
  }
}

// card posts a message with buttons to a person's direct message, where no other case posts.
export async function card(app, blocks, person = ann) {
  const { channel, ts } = await app.client.chat.postMessage({ channel: person, text: 'card', blocks });
  return { channel, ts };
}

export const actions = (...elements) => ({ type: 'actions', block_id: 'row', elements });
export const go = button('Go', { action_id: 'go', value: 'deny 203.0.113.7' });
export const option = (text) => ({ text: plain(text), value: text.toLowerCase() });

// drain forgets what a listener got in earlier cases.
export function drain(kind) {
  kind.got = inbox();
}
