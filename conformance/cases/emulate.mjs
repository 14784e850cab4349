// wafbot itself against emulate, a Slack emulator that others wrote. The service is the emulated world's, Redis a real redis-server.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import http from 'node:http';
import { createRequire } from 'node:module';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { WebClient } from '@slack/web-api';
import { createEmulator } from 'emulate';
import { openWorld, refused, silent, start, until } from '../world.mjs';

const { version } = createRequire(fileURLToPath(import.meta.resolve('emulate')))('../package.json');
const botToken = 'xoxb-emulate-wafbot';
const robsToken = 'xoxp-emulate-rob';
const secret = 'emulate-signing-secret';
const team = 'T000000001'; // emulate's own
// A kept connection may be closed by emulate in the moment when it is used again.
const unshared = { connection: 'close' };
const scopes = ['app_mentions:read', 'channels:history', 'channels:read', 'chat:write', 'commands', 'groups:history', 'groups:read', 'im:history', 'usergroups:read', 'users:read'];

export default {
  client: 'wafbot against emulate',
  version,
  async play(round) {
    const ends = [];
    try {
      const stage = await setUp(ends);
      await cards(round, stage);
      await people(round, stage);
      await emulator(round, stage);
    } finally {
      for (const end of ends.reverse()) await end();
    }
  },
};

// setUp starts the emulator, the world, Redis and the bot. What it adds to ends stops them.
async function setUp(ends) {
  const slack = await createEmulator({ service: 'slack', port: await freePort(), seed: { slack: seed() } });
  ends.push(() => slack.close());
  const calls = [];
  const front = await openFront(slack.url, calls);
  ends.push(() => front.close());
  const world = await openWorld();
  ends.push(() => world.close());
  const person = new WebClient(robsToken, { slackApiUrl: `${slack.url}/api/`, logger: silent });
  const { channels } = await person.conversations.list();
  const { members } = await person.users.list();
  const channel = channels.find((c) => c.name === 'waf').id;
  const rob = members.find((m) => m.name === 'rob').id;
  const redis = await startRedis(ends);
  const bot = await startBot(ends, world, {
    WAFBOT_CHANNEL: channel, WAFBOT_RESPONDERS: rob, WAFBOT_ADMINS: 'U000000001', WAFBOT_REDIS_URL: redis, WAFBOT_LISTEN: '127.0.0.1:0',
    WAFBOT_SLACK_API_URL: `http://127.0.0.1:${front.address().port}/api/`, WAFBOT_SLACK_BOT_TOKEN: botToken, WAFBOT_SLACK_SIGNING_SECRET: secret,
  });
  const answers = `http://127.0.0.1:${front.address().port}/services/${team}/B000000001/X000000001`; // its incoming webhook, which posts in #general
  return { slack, calls, world, person, channel, rob, bot, answers, general: channels.find((c) => c.name === 'general').id };
}

const seed = () => ({
  team: { name: 'Acme', domain: 'acme' },
  users: [{ name: 'rob', real_name: 'Rob Diaz' }],
  channels: [{ name: 'waf' }],
  oauth_apps: [{ app_id: 'A0WAFBOT', client_id: '1.2', client_secret: 'x', name: 'wafbot', redirect_uris: [], scopes, bot_id: 'B0WAFBOT', bot_user_id: 'U0WAFBOT', bot_name: 'wafbot' }],
  tokens: [
    { token: botToken, type: 'bot', user_id: 'U0WAFBOT', scopes, app_id: 'A0WAFBOT', bot_id: 'B0WAFBOT', bot_user_id: 'U0WAFBOT' },
    { token: robsToken, user: 'rob' },
  ],
  signing_secret: secret,
  strict_scopes: true,
});

// openFront passes requests on, and keeps what was called and answered. A token in a form, which Slack takes and emulate doesn't, moves to the header.
function openFront(target, calls) {
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const headers = { ...unshared, 'content-type': request.headers['content-type'], ...(request.headers.authorization && { authorization: request.headers.authorization }) };
    const form = new URLSearchParams(headers['content-type']?.startsWith('application/json') ? '' : body);
    if (form.has('token')) {
      headers.authorization = `Bearer ${form.get('token')}`;
      form.delete('token');
      body = form.toString();
    }
    let answer;
    let text;
    try {
      answer = await fetch(target + request.url, { method: request.method, headers, body });
      text = await answer.text();
    } catch { // at the end of the round emulate is closed while the bot still calls
      response.writeHead(502);
      response.end();
      return;
    }
    calls.push({ method: request.url.split('/').at(-1), path: request.url, status: answer.status, args: Object.fromEntries(form), body, answer: parsed(text) });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
    response.end(text);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function startRedis(ends) {
  const port = await freePort();
  const server = start('redis-server', ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], { stdio: ['ignore', 'pipe', 'ignore'] });
  ends.push(() => server.kill());
  await printed(server.stdout, /Ready to accept connections/, 'redis-server');
  return `redis://127.0.0.1:${port}/0`;
}

async function startBot(ends, world, env) {
  const bot = start(process.env.WAFBOT, ['serve'], { env: { ...process.env, ...world.env, WAFBOT_SLACK_APP_TOKEN: '', ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  ends.push(
    () =>
      new Promise((resolve) => {
        bot.on('exit', resolve);
        bot.kill();
      }),
  );
  const [, address] = await printed(bot.stderr, /msg=listening address=(\S+)/, 'wafbot serve');
  return `http://${address}`;
}

// printed waits until a program prints something, and goes on reading, so that it can print more.
function printed(stream, pattern, what) {
  let text = '';
  stream.on('data', (part) => (text += part));
  return until(`${what} to be ready`, () => text.match(pattern));
}

// deliver sends what Slack would send to the bot, and emulate can't: signed as Slack documents it.
async function deliver(bot, path, body, type = 'application/x-www-form-urlencoded') {
  const time = String(Math.floor(Date.now() / 1000));
  const signature = `v0=${createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex')}`;
  return fetch(bot + path, { method: 'POST', headers: { 'Content-Type': type, 'X-Slack-Request-Timestamp': time, 'X-Slack-Signature': signature }, body });
}

const texts = (message) => JSON.stringify([message.text, message.blocks, message.attachments]);

const shownBlocks = (message) => [...(message.blocks ?? []), ...(message.attachments ?? []).flatMap((a) => a.blocks ?? [])];

const denied = (world, address) =>
  until('the entry', async () => (await world.get('/sandbox/service/acme')).ip_rules.some((rule) => JSON.stringify(rule).includes(address)));

async function cards(round, { world, person, channel, rob, bot, answers, calls }) {
  const listed = async () => (await person.conversations.history({ channel })).messages;
  const cardOf = (address) => until(`a card of ${address}`, async () => (await listed()).find((m) => texts(m).includes(address)));
  const attack = { type: 'sqli', account: 'acme', app: 4, host: 'shop.example.com', path: '/login', hits: 500, sources: [{ ip: '198.51.100.77', country: 'FR', per_second: 20 }] };
  let card;
  let id;
  await round.run('an attack becomes a card, with blocks, a fallback and metadata', async () => {
    id = (await world.post('/sandbox/attacks', attack)).attacks[0].id;
    card = await cardOf('198.51.100.77');
    assert.equal(card.user, 'U0WAFBOT');
    assert.ok(card.text.length > 0 && card.text.length <= 1000);
    const shown = shownBlocks(card);
    assert.ok(shown.length > 0 && shown.length <= 50);
    assert.ok(shown.some((block) => block.type === 'actions'));
    assert.ok(card.metadata.event_payload.delivery, JSON.stringify(card.metadata));
    assert.equal(card.unfurl_links, false);
  });
  await round.run('the card is edited as the attack goes on', async () => {
    await world.post(`/sandbox/attacks/${id}/grow`, { factor: 10 });
    const edited = await until('an edit', async () => (await listed()).find((m) => m.ts === card.ts && m.edited));
    assert.equal(edited.edited.user, 'U0WAFBOT');
    assert.notEqual(texts(edited), texts(card));
    assert.ok((await listed()).filter((m) => texts(m).includes('198.51.100.77')).length === 1, 'it is one card');
  });
  await round.run("a click on the card's button, as emulate keeps it, is carried out and told in the card's thread", async () => {
    const buttons = shownBlocks(card).flatMap((block) => block.elements ?? []).filter((element) => element.type === 'button');
    const deny = buttons.find((button) => button.value?.startsWith('deny 198.51.100.77'));
    assert.ok(deny, buttons.map((button) => button.value).join());
    const payload = {
      type: 'block_actions', user: { id: rob, username: 'rob', team_id: team }, team: { id: team, domain: 'acme' }, api_app_id: 'A0WAFBOT', channel: { id: channel, name: 'waf' },
      container: { type: 'message', message_ts: card.ts, channel_id: channel, is_ephemeral: false }, message: card, state: { values: {} }, response_url: answers,
      actions: [{ type: 'button', action_id: deny.action_id, block_id: 'x', value: deny.value, text: deny.text, action_ts: '1.000001' }],
    };
    assert.equal((await deliver(bot, '/slack/interactions', new URLSearchParams({ payload: JSON.stringify(payload) }).toString())).status, 200);
    await denied(world, '198.51.100.77');
    await until('a reply', async () => (await person.conversations.replies({ channel, ts: card.ts })).messages.length > 1);
  });
  await round.run('the bot is ready over HTTP alone', async () => assert.equal((await fetch(`${bot}/readyz`)).status, 200));
  await round.run('each call that emulate knows was taken', () => {
    const known = calls.filter((call) => call.path.startsWith('/api/') && call.method !== 'usergroups.list');
    assert.ok(known.length > 5);
    const wrong = known.filter((call) => !call.answer.ok && call.answer.error !== 'user_not_found'); // the cast of the sandbox isn't here
    assert.deepEqual(wrong.map((call) => [call.method, call.answer]), []);
  });
}

async function people(round, { slack, world, person, channel, rob, bot, answers, general, calls }) {
  const command = async (text, more = {}) => {
    const fields = {
      token: 'x', team_id: team, team_domain: 'acme', channel_id: channel, channel_name: 'waf', user_id: rob, user_name: 'rob', command: '/waf', text,
      api_app_id: 'A0WAFBOT', is_enterprise_install: 'false', response_url: answers, ...more,
    };
    assert.equal((await deliver(bot, '/slack/commands', new URLSearchParams(fields).toString())).status, 200);
  };
  const trigger = async () => {
    const answer = await fetch(`${slack.url}/api/views.generateTriggerId`, {
      method: 'POST', headers: { ...unshared, Authorization: `Bearer ${botToken}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ user_id: rob }),
    });
    return (await answer.json()).trigger_id;
  };
  const called = (method, is = () => true) => until(method, () => calls.find((call) => call.method === method && is(call)));
  await round.run('a command is answered at its response URL', async () => {
    await command('status');
    await until('the answer', async () => (await person.conversations.history({ channel: general })).messages.some((m) => m.subtype === 'bot_message' && texts(m).includes('default')));
  });
  await round.run('a command of a responder changes the service', async () => {
    await command('deny 203.0.113.9 for=30m reason=conformance');
    await denied(world, '203.0.113.9');
  });
  await round.run('a command without its arguments opens a form, with the trigger of emulate', async () => {
    await command('deny', { trigger_id: await trigger() });
    const { answer } = await called('views.open');
    assert.equal(answer.ok, true, JSON.stringify(answer));
    assert.equal(answer.view.type, 'modal');
    const form = (await called('views.update')).answer; // of the view that opened at once
    assert.equal(form.view.id, answer.view.id);
    assert.ok(form.view.blocks.some((block) => block.type === 'input'));
  });
  const event = (id, inner) =>
    deliver(bot, '/slack/events', JSON.stringify({ type: 'event_callback', team_id: team, api_app_id: 'A0WAFBOT', event_id: id, event_time: Math.floor(Date.now() / 1000), event: inner }), 'application/json');
  await round.run('a person who opens the Home tab gets it published', async () => {
    assert.equal((await event('Ev1', { type: 'app_home_opened', user: rob, channel: 'D1', tab: 'home', event_ts: '1.000001' })).status, 200);
    const { answer } = await called('views.publish');
    assert.equal(answer.ok, true, JSON.stringify(answer));
    assert.equal(answer.view.type, 'home');
  });
  await round.run("a person's mention, as emulate keeps it, is answered", async () => {
    const said = await person.chat.postMessage({ channel, text: '<@U0WAFBOT> whoami' });
    assert.equal((await event('Ev2', { ...said.message, type: 'app_mention', channel, event_ts: said.ts })).status, 200);
    const { answer } = await called('chat.postEphemeral', (call) => call.args.user === rob);
    assert.equal(answer.ok, true, JSON.stringify(answer));
  });
}

// emulator states what Slack does and emulate doesn't: why the bot can't be tried further against it.
async function emulator(round, { slack, person, channel }) {
  const call = async (method, args, token = botToken) =>
    fetch(`${slack.url}/api/${method}`, { method: 'POST', headers: { ...unshared, ...(token && { Authorization: `Bearer ${token}` }) }, body: new URLSearchParams(args) });
  const ok = async (answer) => assert.equal((await answer.json()).ok, true);
  await round.differs('emulate-token', 'a token may stand in the form', async () => ok(await call('auth.test', { token: botToken }, '')));
  await round.differs('emulate-bot-id', "a bot's message has its bot_id", async () => {
    const { messages } = await person.conversations.history({ channel });
    assert.equal(messages.find((m) => m.user === 'U0WAFBOT').bot_id, 'B0WAFBOT');
  });
  await round.differs('emulate-scopes', "an answer names the token's scopes", async () => assert.ok((await call('auth.test', {})).headers.get('x-oauth-scopes')));
  await round.differs('emulate-user-groups', 'user groups are listed', async () => ok(await call('usergroups.list', {})));
  await round.differs('emulate-socket-mode', 'Socket Mode links are opened', async () => ok(await call('apps.connections.open', {})));
  await round.differs('emulate-blocks', 'blocks that Slack refuses are refused', () => {
    const bot = new WebClient(botToken, { slackApiUrl: `${slack.url}/api/`, logger: silent });
    return refused('invalid_blocks', bot.chat.postMessage({ channel, text: 'x', blocks: [{ type: 'nonsense' }] }));
  });
}
