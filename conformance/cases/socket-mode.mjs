// @slack/socket-mode: links open, are refreshed, cut and switched off, and its client gets over it.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { SocketModeClient } from '@slack/socket-mode';
import { inbox, openWorld, pause, silent, until } from '../world.mjs';

const { version } = createRequire(import.meta.url)('@slack/socket-mode/package.json');

export default {
  client: '@slack/socket-mode',
  version,
  async play(round) {
    const world = await openWorld();
    try {
      await opening(round, world);
      await envelopes(round, world);
      await reconnects(round, world);
      await tooMany(round, world);
    } finally {
      world.close();
    }
  },
};

const clientOf = (world, options = {}) =>
  new SocketModeClient({ appToken: world.appToken, logger: silent, clientOptions: { slackApiUrl: world.slackApiUrl }, ...options });

// linked starts a client, has a case play with it, and ends it. What comes over its links is in got.
async function linked(world, play, options) {
  const client = clientOf(world, options);
  const got = inbox();
  const frames = [];
  client.on('slack_event', got.put);
  client.on('ws_message', (text) => frames.push(JSON.parse(text)));
  await client.start();
  try {
    await play({ client, got, frames });
  } finally {
    await client.disconnect();
    await until('the link to end', async () => (await world.links()).length === 0);
  }
}

async function opening(round, world) {
  await round.run('a link is greeted', () =>
    linked(world, async ({ frames }) => {
      const [hello] = frames;
      assert.deepEqual([hello.type, hello.num_connections, hello.connection_info.app_id], ['hello', 1, 'A0WAFBOT']);
      assert.deepEqual(Object.keys(hello.debug_info).sort(), ['approximate_connection_time', 'build_number', 'host']);
      assert.equal((await world.links()).length, 1);
    }));
  await round.run('an address opens one link, once', async () => {
    const { url } = await clientOf(world).webClient.apps.connections.open({});
    const first = new WebSocket(url);
    await new Promise((resolve) => first.addEventListener('message', resolve, { once: true }));
    const outcome = await new Promise((resolve) => {
      const second = new WebSocket(url);
      second.addEventListener('open', () => resolve('opened'));
      second.addEventListener('error', () => resolve('refused'));
    });
    first.close();
    assert.equal(outcome, 'refused');
    await until('the link to end', async () => (await world.links()).length === 0);
  });
  await round.run('a link for debugging lasts six minutes', async () => {
    const { url } = await clientOf(world).webClient.apps.connections.open({});
    const link = new WebSocket(`${url}&debug_reconnects=true`);
    const { data } = await new Promise((resolve) => link.addEventListener('message', resolve, { once: true }));
    assert.equal(JSON.parse(data).debug_info.approximate_connection_time, 360);
    link.close();
    await until('the link to end', async () => (await world.links()).length === 0);
  });
  await round.run('a wrong token opens none, and the client gives up', () =>
    assert.rejects(clientOf(world, { appToken: 'xapp-wrong' }).start(), (error) => error.data.error === 'invalid_auth'));
  await round.run('a bot token opens none', async () => {
    const client = clientOf(world, { appToken: world.botToken, autoReconnectEnabled: false });
    await assert.rejects(client.start(), (error) => error.data.error === 'not_allowed_token_type');
  });
  await round.run('an opening that comes too soon is tried again by the client', async () => {
    await world.fault({ kind: 'ratelimited', method: 'apps.connections.open', times: 1 });
    await linked(world, async () => assert.equal((await world.links()).length, 1));
  });
  await round.run('pings come before a client misses them', () =>
    linked(world, async ({ client }) => {
      let closed = 0;
      client.on('close', () => closed++);
      await pause(8000);
      assert.equal(closed, 0);
    }, { serverPingTimeout: 7000 }));
}

async function envelopes(round, world) {
  await round.run('a command may be answered in its acknowledgement', () =>
    linked(world, async ({ client, got }) => {
      client.on('slash_commands', ({ ack }) => ack({ text: 'answered' }));
      const sent = await world.command('ann', '#waf', 'status');
      const envelope = await got.next('the envelope');
      assert.deepEqual([envelope.type, envelope.accepts_response_payload, envelope.body.command], ['slash_commands', true, '/waf']);
      assert.deepEqual([sent.acked, sent.via, sent.link], [true, 'socket', (await world.links())[0].id]);
      await until('the answer', async () => (await world.messages('ann', 'waf')).some((m) => m.ephemeral && m.text === 'answered'));
    }));
  await round.run('an event carries the number of its attempt, and comes again until it is acknowledged', () =>
    linked(world, async ({ got }) => {
      await world.say('ann', '#waf', '@wafbot hello');
      const first = await got.next('the event');
      assert.deepEqual([first.type, first.body.event.type, first.retry_num, first.retry_reason], ['events_api', 'app_mention', 0, '']);
      assert.equal(first.accepts_response_payload, false);
      const again = await got.next('the retry');
      assert.deepEqual([again.retry_num, again.retry_reason, again.body.event_id], [1, 'timeout', first.body.event_id]);
      assert.notEqual(again.envelope_id, first.envelope_id);
      await again.ack();
      await until('the end of retries', async () => (await world.events('app_mention')).find((e) => e.id === first.body.event_id).done);
    }));
  await round.run('a command that is not acknowledged comes once, and shows a warning', () =>
    linked(world, async ({ got }) => {
      const sent = await world.command('ann', '#waf', 'status');
      assert.deepEqual([sent.acked, sent.warning], [false, 'the app did not respond']);
      assert.equal(got.size, 1);
    }));
  await round.run('an acknowledgement of 20 kB is dropped', () =>
    linked(world, async ({ client }) => {
      client.on('slash_commands', ({ ack }) => ack({ text: 'x'.repeat(20_000) }));
      assert.equal((await world.command('ann', '#waf', 'status')).acked, false);
    }));
  await round.run('each payload goes to one link, and both links get some', () =>
    linked(world, ({ client, got }) =>
      linkedBeside(world, async (second) => {
        for (const one of [client, second.client]) one.on('slash_commands', ({ ack }) => ack());
        for (let i = 0; i < 6; i++) assert.equal((await world.command('ann', '#waf', `n${i}`)).acked, true);
        assert.equal(got.size + second.got.size, 6);
        assert.ok(got.size > 0 && second.got.size > 0);
      })));
}

// linkedBeside is linked while another link stays open.
async function linkedBeside(world, play) {
  const client = clientOf(world);
  const got = inbox();
  client.on('slack_event', got.put);
  await client.start();
  try {
    await play({ client, got });
  } finally {
    await client.disconnect();
  }
}

async function reconnects(round, world) {
  // works requires that the client has a new link, and that a command goes over it.
  const works = async (client, old) => {
    await until('a new link', async () => (await world.links()).some((link) => link.id !== old));
    client.on('slash_commands', ({ ack }) => ack());
    assert.equal((await world.command('ann', '#waf', 'status')).acked, true);
  };
  await round.run('a warning has the client open another link', () =>
    linked(world, async ({ client, frames }) => {
      const [{ id }] = await world.links();
      await world.post('/sandbox/slack/links/refresh', { link: id, after: '2s' });
      await until('the warning', () => frames.find((f) => f.type === 'disconnect' && f.reason === 'warning'));
      await works(client, id);
    }));
  await round.run('the end of a link follows its warning, with the reason', async () => {
    // Slack's client closes at the warning. A bare link stays to see what comes.
    const { url } = await clientOf(world).webClient.apps.connections.open({});
    const link = new WebSocket(url);
    const reasons = [];
    const closed = new Promise((resolve) => link.addEventListener('close', resolve));
    link.addEventListener('message', ({ data }) => reasons.push(JSON.parse(data).reason ?? JSON.parse(data).type));
    await until('the greeting', () => reasons.length === 1);
    await world.post('/sandbox/slack/links/refresh', { after: '300ms' });
    await closed;
    assert.deepEqual(reasons, ['hello', 'warning', 'refresh_requested']);
  });
  await round.run('a cut link is replaced by the client', () =>
    linked(world, async ({ client }) => {
      const [{ id }] = await world.links();
      await world.post('/sandbox/slack/links/cut', { link: id });
      await works(client, id);
    }));
  await round.run('Socket Mode that is switched off ends links and opens none, until it is on again', () =>
    linked(world, async ({ client, frames }) => {
      const [{ id }] = await world.links();
      await world.post('/sandbox/slack/socket_mode', { on: false });
      await until('the end', () => frames.find((f) => f.type === 'disconnect' && f.reason === 'link_disabled'));
      await until('a refusal', async () => (await world.get('/sandbox/slack/calls')).calls.some((c) => c.method === 'apps.connections.open' && !c.ok && c.error === 'socket_mode_not_enabled'));
      await world.post('/sandbox/slack/socket_mode', { on: true });
      await works(client, id);
    }));
}

async function tooMany(round, world) {
  await round.run('ten links are open, the eleventh is not, and gets in when one has ended', async () => {
    const ten = Array.from({ length: 10 }, () => clientOf(world));
    const late = clientOf(world);
    try {
      for (const client of ten) await client.start();
      assert.equal((await world.links()).length, 10);
      const frames = [];
      late.on('ws_message', (text) => frames.push(JSON.parse(text)));
      const started = late.start();
      await until('a refusal', () => frames.find((f) => f.type === 'disconnect'));
      assert.equal(frames[0].reason, 'too_many_websockets', 'and no greeting before it');
      assert.equal((await world.links()).length, 10);
      await ten[0].disconnect();
      await until('the eleventh to get in', () => frames.find((f) => f.type === 'hello'));
      await started;
    } finally {
      await Promise.allSettled([...ten, late].map((client) => client.disconnect()));
    }
  });
}
