// Channels, people, the Home tab, tokens, content types, methods, and the pace of calls.
import assert from 'node:assert/strict';
import { openWorld, pause, plain, refused, section } from '../../world.mjs';
import { ann, clientOf, globex, legacy, once, random, waf } from './client.mjs';

export async function channels(round, world) {
  const slack = clientOf(world);
  await round.run('what a channel is', async () => {
    const { channel } = await slack.conversations.info({ channel: waf, include_num_members: true });
    assert.equal(channel.name, 'waf');
    assert.equal(channel.is_channel, true);
    assert.equal(channel.is_member, true);
    assert.equal(channel.is_archived, false);
    assert.deepEqual([channel.is_shared, channel.is_org_shared, channel.is_mpim, channel.is_general, channel.context_team_id], [false, false, false, false, 'T0SANDBOX']);
    assert.equal(typeof channel.created, 'number');
    assert.match(channel.creator, /^U/);
    assert.deepEqual(Object.keys(channel.topic).sort(), ['creator', 'last_set', 'value']);
    assert.deepEqual(Object.keys(channel.purpose).sort(), ['creator', 'last_set', 'value']);
    assert.ok(channel.num_members > 1);
    assert.equal((await slack.conversations.info({ channel: waf })).channel.num_members, undefined);
  });
  await round.run('channels by the page, without the private ones of others', async () => {
    const names = [];
    for await (const page of slack.paginate('conversations.list', { limit: 2, types: 'public_channel,private_channel' })) {
      names.push(...page.channels.map((c) => c.name));
    }
    assert.ok(names.includes('waf-old') && !names.includes('board'), names.join());
    const active = await slack.conversations.list({ exclude_archived: true });
    assert.ok(!active.channels.some((c) => c.name === 'waf-old'));
    await refused('invalid_types', slack.conversations.list({ types: 'nonsense' }));
  });
  await round.run('who is in a channel', async () => {
    const members = [];
    for await (const page of slack.paginate('conversations.members', { channel: waf, limit: 2 })) members.push(...page.members);
    assert.ok(members.includes(ann) && members.includes('U0WAFBOT'));
  });
  await round.run('a scope that is missing is named', async () => {
    for (const [call, needed] of [
      [() => slack.conversations.open({ users: ann }), 'im:write'],
      [() => slack.conversations.join({ channel: random }), 'channels:join'],
      [() => slack.team.info(), 'team:read'],
      [() => slack.users.lookupByEmail({ email: 'ann@example.com' }), 'users:read.email'],
      [() => slack.reactions.add({ channel: waf, timestamp: '1.000001', name: 'eyes' }), 'reactions:write'],
    ]) {
      const answer = await refused('missing_scope', call());
      assert.ok(answer.needed.split(',').includes(needed), `${answer.needed} lacks ${needed}`);
      assert.ok(answer.provided.includes('chat:write'));
    }
  });
}

export async function people(round, world) {
  const slack = clientOf(world);
  await round.run('who a person is', async () => {
    const { user } = await slack.users.info({ user: 'U0GUEST04' });
    assert.equal(user.name, 'guest');
    assert.equal(user.is_restricted, true);
    assert.equal(user.is_bot, false);
    assert.equal(user.profile.real_name, 'Gail Guest');
    assert.deepEqual([user.is_admin, user.is_owner, user.is_app_user, user.tz_offset], [false, false, false, 0]);
    assert.equal((await slack.users.info({ user: 'U0EVE0005' })).user.is_stranger, true);
    await refused('user_not_found', slack.users.info({ user: 'U0NOBODY1' }));
  });
  await round.run('people by the page, without strangers', async () => {
    const ids = [];
    for await (const page of slack.paginate('users.list', { limit: 2 })) ids.push(...page.members.map((m) => m.id));
    assert.ok(ids.includes(ann) && !ids.includes('U0EVE0005'));
  });
  await round.run('user groups with their members', async () => {
    const { usergroups } = await slack.usergroups.list({ include_users: true });
    assert.deepEqual(usergroups[0].users, ['U0ROB0002']);
    assert.equal(usergroups[0].handle, 'waf-responders');
    assert.equal((await slack.usergroups.list()).usergroups[0].users, undefined);
    assert.deepEqual((await slack.usergroups.users.list({ usergroup: 'S0WAFRESP' })).users, ['U0ROB0002']);
    await refused('no_such_subteam', slack.usergroups.users.list({ usergroup: 'S0NOWHERE' }));
  });
  await round.run('who the bot is', async () => {
    const self = await slack.auth.test();
    assert.deepEqual([self.team_id, self.user_id, self.bot_id, self.url], ['T0SANDBOX', 'U0WAFBOT', 'B0WAFBOT', 'https://acme.slack.com/']);
    assert.ok(self.response_metadata.scopes.includes('chat:write'));
    const { bot } = await slack.bots.info({ bot: self.bot_id });
    assert.equal(bot.app_id, 'A0WAFBOT');
    await refused('bot_not_found', slack.bots.info({ bot: 'B0NOBODY' }));
  });
}

export async function home(round, world) {
  const slack = clientOf(world);
  const view = (text) => ({ type: 'home', blocks: [section(text)] });
  await round.run('a Home tab is published, and again only over the version that was read', async () => {
    const { view: first } = await slack.views.publish({ user_id: ann, view: view('one') });
    assert.match(first.id, /^V/);
    const { view: second } = await slack.views.publish({ user_id: ann, view: view('two'), hash: first.hash });
    assert.equal(second.id, first.id);
    assert.notEqual(second.hash, first.hash);
    await refused('hash_conflict', slack.views.publish({ user_id: ann, view: view('three'), hash: first.hash }));
    const seen = (await world.get('/sandbox/slack/views?user=ann')).home;
    assert.equal(seen.raw.blocks[0].text.text, 'two');
  });
  await round.run('an app without Home tab', async () => {
    await world.post('/sandbox/slack/home', { on: false });
    await refused('not_enabled', slack.views.publish({ user_id: ann, view: view('x') }));
    await world.post('/sandbox/slack/home', { on: true });
  });
  await round.run('a view that Slack refuses names the place', async () => {
    const answer = await refused('invalid_arguments', slack.views.publish({ user_id: ann, view: view('x'.repeat(3001)) }));
    assert.ok(answer.response_metadata.messages.some((line) => line.includes('[json-pointer:/view/blocks/0/text/text]')), JSON.stringify(answer));
  });
  await round.run('a modal without a click', () =>
    refused('invalid_trigger_id', slack.views.open({ trigger_id: '1.2.3', view: { type: 'modal', title: plain('t'), blocks: [section('x')] } })));
}

export async function tokens(round, world) {
  const asked = (token, options) => clientOf(world, { retryConfig: once, ...options }, token);
  await round.run('no token', () => refused('not_authed', asked('').auth.test()));
  await round.run('a wrong token', () => refused('invalid_auth', asked('xoxb-wrong').chat.postMessage({ channel: waf, text: 'x' })));
  await round.run('an app token where a bot token is due', () => refused('not_allowed_token_type', asked(world.appToken).chat.postMessage({ channel: waf, text: 'x' })));
  await round.run('a bot token where an app token is due', () => refused('not_allowed_token_type', asked(world.botToken).apps.connections.open()));
  await round.run('an app token opens a link', async () => assert.match((await asked(world.appToken).apps.connections.open()).url, /^wss?:/));
  await round.run('a revoked token', async () => {
    await world.fault({ kind: 'token_revoked', method: 'auth.test', times: 1 });
    await refused('token_revoked', asked(world.botToken).auth.test());
  });
  await round.run('a token in the header, in lower case', async () =>
    assert.equal((await asked('', { headers: { Authorization: `bearer ${world.botToken}` } }).auth.test()).ok, true));
  await round.run('calls are kept without tokens', async () => {
    const { calls } = await world.get('/sandbox/slack/calls');
    assert.ok(calls.length > 50);
    assert.ok(!JSON.stringify(calls).includes(world.botToken));
  });
}

// bodies sends what the client would send in other content types.
export async function bodies(round, world) {
  const sending = (change) =>
    clientOf(world, {
      retryConfig: once,
      fetch: (url, init) => {
        const form = Object.fromEntries(new URLSearchParams(init.body));
        return fetch(url, { ...init, ...change(form, init) });
      },
    });
  const json = sending((form, init) => ({ headers: { ...init.headers, 'Content-Type': 'application/json; charset=utf-8' }, body: JSON.stringify(form) }));
  const multipart = sending((form, init) => {
    const body = new FormData();
    for (const [key, value] of Object.entries(form)) body.set(key, value);
    return { headers: { Authorization: init.headers.Authorization }, body };
  });
  const xml = sending((_, init) => ({ headers: { ...init.headers, 'Content-Type': 'text/xml' }, body: '<x/>' }));
  await round.run('JSON where Slack takes it', async () => assert.equal((await json.chat.postMessage({ channel: 'U0VIC0003', text: 'x' })).ok, true));
  const bare = sending((form, init) => ({ headers: { ...init.headers, 'Content-Type': 'application/json' }, body: JSON.stringify(form) }));
  await round.differs('charset', 'JSON without a charset is taken with a warning', async () =>
    assert.deepEqual((await bare.chat.postMessage({ channel: 'U0VIC0003', text: 'x' })).response_metadata.warnings, ['missing_charset']));
  await round.run('JSON is not read where a method only reads', () => refused('channel_not_found', json.conversations.info({ channel: waf })));
  await round.run('multipart/form-data', async () => {
    assert.equal((await multipart.chat.postMessage({ channel: 'U0VIC0003', text: 'x' })).ok, true);
    assert.equal((await multipart.conversations.info({ channel: waf })).channel.id, waf);
  });
  await round.run('a content type that Slack does not take', () => refused('invalid_post_type', xml.chat.postMessage({ channel: waf, text: 'x' })));
}

export async function methods(round, world) {
  const slack = clientOf(world);
  await round.run('a test of the API gives back what it was given', async () => {
    assert.equal((await slack.api.test({ foo: 'bar' })).args.foo, 'bar');
    await refused('my_error', slack.api.test({ error: 'my_error' }));
  });
  await round.run('a method that there is not', () => refused('unknown_method', slack.apiCall('nothing.here')));
  await round.differs('methods', 'a method that wafbot does not use lacks a scope', () => refused('missing_scope', slack.pins.list({ channel: waf })));
  await round.run('an answer that never comes', async () => {
    await world.fault({ kind: 'timeout', method: 'auth.test', times: 1 });
    await refused('slack_webapi_request_error', clientOf(world, { timeout: 300, retryConfig: once }).auth.test());
  });
  await round.run("Slack's own failure is tried again by the client", async () => {
    await world.fault({ kind: '500', method: 'auth.test', times: 1 });
    await refused('slack_webapi_http_error', clientOf(world, { retryConfig: once }).auth.test());
    await world.fault({ kind: '500', method: 'auth.test', times: 1 });
    assert.equal((await clientOf(world, { retryConfig: { retries: 2, minTimeout: 1 } }).auth.test()).ok, true);
  });
}

// pace has a world of its own, in which nothing was called before.
export async function pace(round) {
  const world = await openWorld();
  try {
    await round.run('more than a message a second is refused with the time to wait', async () => {
      const strict = clientOf(world, { rejectRateLimitedCalls: true });
      const results = await Promise.allSettled(Array.from({ length: 8 }, (_, i) => strict.chat.postMessage({ channel: waf, text: `burst ${i}` })));
      const late = results.filter((r) => r.status === 'rejected').map((r) => r.reason);
      assert.ok(late.length > 0);
      for (const error of late) {
        assert.equal(error.code, 'slack_webapi_rate_limited_error');
        assert.ok(error.retryAfter >= 1);
      }
      assert.equal((await world.messages('ann', 'waf')).length, 8 - late.length, 'what was refused was not posted');
    });
    await round.run("the client's own retry posts each message once", async () => {
      let limited = 0;
      const patient = clientOf(world);
      patient.on('rate_limited', () => limited++);
      await Promise.all(Array.from({ length: 8 }, (_, i) => patient.chat.postMessage({ channel: globex, text: `patient ${i}` })));
      assert.ok(limited > 0);
      const texts = (await world.messages('ann', 'waf-globex')).map((m) => m.text).sort();
      assert.deepEqual(texts, Array.from({ length: 8 }, (_, i) => `patient ${i}`));
    });
    await round.run('a method over its tier is refused, others go on', async () => {
      const strict = clientOf(world, { rejectRateLimitedCalls: true });
      const results = await Promise.allSettled(Array.from({ length: 22 }, () => strict.users.list()));
      assert.equal(results.filter((r) => r.status === 'rejected' && r.reason.code === 'slack_webapi_rate_limited_error').length, 2);
      assert.equal((await strict.users.info({ user: ann })).ok, true);
    });
    await round.run('a channel over its pace holds up no other', async () => {
      const strict = clientOf(world, { rejectRateLimitedCalls: true });
      await Promise.allSettled(Array.from({ length: 7 }, () => strict.chat.postMessage({ channel: legacy, text: 'x' })));
      assert.equal((await strict.chat.postMessage({ channel: random, text: 'x' })).ok, true);
    });
    await round.run('a message that was posted though Slack said 429 is there once or twice, never not', async () => {
      await pause(6000); // the channel's burst is whole again
      await world.fault({ kind: 'ratelimited_posted', method: 'chat.postMessage', times: 1 });
      await clientOf(world).chat.postMessage({ channel: random, text: 'doubtful' });
      assert.equal((await world.messages('ann', 'random')).filter((m) => m.text === 'doubtful').length, 2, 'a client that only retries posts twice');
    });
  } finally {
    world.close();
  }
}
