// Events, the Home tab, signatures, and what is never acknowledged.
import assert from 'node:assert/strict';
import { pause, section, until } from '../../world.mjs';
import { actions, ann, answering, drain, go, waf } from './app.mjs';

export async function events(round, world, app, { event, message }) {
  const named = async (name) => {
    for (;;) {
      const got = await event.got.next(name);
      if (got.event.type === name) return got;
    }
  };
  await round.run('a mention is an event with its words as rich text', async () => {
    const said = await world.say('ann', '#waf', '@wafbot status & more of https://example.com');
    const { event: mention, body, context } = await named('app_mention');
    assert.deepEqual([mention.user, mention.channel, mention.ts, mention.event_ts], [ann, waf, said.ts, said.ts]);
    assert.equal(mention.text, '<@U0WAFBOT> status &amp; more of <https://example.com>');
    const [user, words, link] = mention.blocks[0].elements[0].elements;
    assert.deepEqual([mention.blocks[0].type, user.user_id, words.text, link.url], ['rich_text', 'U0WAFBOT', ' status & more of ', 'https://example.com']);
    assert.deepEqual([body.type, body.team_id, body.api_app_id, body.authorizations[0].user_id], ['event_callback', 'T0SANDBOX', 'A0WAFBOT', 'U0WAFBOT']);
    assert.match(body.event_id, /^Ev/);
    assert.equal(context.botUserId, 'U0WAFBOT');
  });
  await round.run('a mention is answered in its thread', () =>
    answering(event, ({ event: mention, say }) => say({ text: 'here', thread_ts: mention.ts }), async () => {
      const { ts } = await world.say('ann', '#waf', '@wafbot help');
      await until('the reply', async () => (await world.messages('ann', 'waf')).some((m) => m.text === 'here' && m.thread_ts === ts));
    }));
  await round.run('a mention in a thread says which', async () => {
    const { ts } = await world.say('ann', '#waf', 'parent');
    drain(event);
    await world.say('rob', '#waf', '@wafbot here', { thread_ts: ts });
    assert.equal((await named('app_mention')).event.thread_ts, ts);
  });
  await round.run('a direct message is a message event', async () => {
    drain(message);
    const said = await world.say('ann', '@wafbot', 'hello');
    const { event: got } = await message.got.next('the message');
    assert.deepEqual([got.type, got.channel_type, got.text, got.user, got.ts], ['message', 'im', 'hello', ann, said.ts]);
    assert.ok(got.client_msg_id);
    assert.equal(got.blocks[0].elements[0].elements[0].text, 'hello');
  });
  await round.run('an edited message is an event with both versions', async () => {
    const { ts, channel } = await world.say('ann', '@wafbot', 'befor');
    drain(message);
    await world.post('/sandbox/slack/edit', { user: 'ann', channel, ts, text: 'before' });
    const { event: got } = await until('the edit', async () => {
      const next = await message.got.next('the edit');
      return next.event.subtype === 'message_changed' && next;
    });
    assert.deepEqual([got.message.text, got.previous_message.text, got.message.ts], ['before', 'befor', ts]);
    assert.ok(got.message.edited.ts);
  });
  await round.run('a deleted message is an event with what it was', async () => {
    const { ts, channel } = await world.say('ann', '@wafbot', 'oops');
    drain(message);
    await world.post('/sandbox/slack/delete', { user: 'ann', channel, ts });
    const { event: got } = await until('the deletion', async () => {
      const next = await message.got.next('the deletion');
      return next.event.subtype === 'message_deleted' && next;
    });
    assert.deepEqual([got.deleted_ts, got.previous_message.text, got.channel, got.hidden], [ts, 'oops', channel, true]);
  });
  await round.run("the bot's own messages are marked, so that Bolt leaves them out", async () => {
    drain(message);
    const { ts } = await app.client.chat.postMessage({ channel: ann, text: 'from the bot' });
    const sent = await until('the event', async () => (await world.events('message')).find((e) => e.payload.event.ts === ts && e.done));
    assert.equal(sent.payload.event.bot_id, 'B0WAFBOT');
    assert.equal(message.got.size, 0);
  });
  await round.run('what happens to a user group', async () => {
    drain(event);
    await world.post('/sandbox/slack/group', { group: 'waf-responders', users: ['rob', 'vic'] });
    const got = [await event.got.next('an event'), await event.got.next('an event')].map((e) => e.event);
    const changed = got.find((e) => e.type === 'subteam_members_changed');
    assert.deepEqual([changed.subteam_id, changed.added_users, changed.removed_users], ['S0WAFRESP', ['U0VIC0003'], []]);
    assert.deepEqual(got.find((e) => e.type === 'subteam_updated').subteam.users.toSorted(), ['U0ROB0002', 'U0VIC0003']);
  });
}

export async function homes(round, world, app, { event, action }) {
  const published = { type: 'home', callback_id: 'home', blocks: [section('Welcome'), actions(go)] };
  await round.run('a Home tab is published when it is opened', () =>
    answering(event, ({ event: opening, client }) => client.views.publish({ user_id: opening.user, view: published }), async () => {
      drain(event);
      await world.post('/sandbox/slack/home/open', { user: 'ann' });
      const got = await event.got.next('the opening');
      assert.deepEqual([got.event.type, got.event.tab, got.event.user, got.event.view], ['app_home_opened', 'home', ann, undefined]);
      await until('the Home tab', async () => (await world.get('/sandbox/slack/views?user=ann')).home?.raw.blocks[0].text.text === 'Welcome');
    }));
  await round.run('a click on the Home tab carries the view', async () => {
    drain(action);
    await world.post('/sandbox/slack/click', { user: 'ann', view: 'home', button: 'Go' });
    const { body } = await action.got.next('the click');
    assert.deepEqual([body.view.type, body.view.callback_id, body.container.view_id, body.response_url], ['home', 'home', body.view.id, undefined]);
  });
  await round.run('an opening tells what is published', async () => {
    drain(event);
    await world.post('/sandbox/slack/home/open', { user: 'ann' });
    assert.equal((await event.got.next('the opening')).event.view.callback_id, 'home');
  });
}

// signatures is of HTTP alone: a link is its own proof.
export async function signatures(round, world, { command, event }) {
  await round.run('a forged request is refused, and no listener hears of it', async () => {
    const sent = await world.command('ann', '#waf', 'status');
    drain(command);
    const forged = await world.post(`/sandbox/slack/deliveries/${sent.id}/forge`, {});
    assert.equal(forged.status, 401);
    assert.equal(command.got.size, 0);
  });
  await round.run('the same bytes again have the same, valid signature', async () => {
    const sent = await world.command('ann', '#waf', 'status');
    drain(command);
    assert.equal((await world.post(`/sandbox/slack/deliveries/${sent.id}/replay`, {})).status, 200);
    assert.equal((await command.got.next('the replay')).body.text, 'status');
  });
  await round.run('a signature ends after five minutes', async () => {
    const sent = await world.command('ann', '#waf', 'status');
    const now = Date.now;
    Date.now = () => now() + 301_000; // of this process alone: Bolt compares with it
    try {
      assert.equal((await world.post(`/sandbox/slack/deliveries/${sent.id}/replay`, {})).status, 401);
    } finally {
      Date.now = now;
    }
  });
  await round.run('url_verification gets its challenge back', async () => {
    const sent = await world.post('/sandbox/slack/verify_url', {});
    assert.deepEqual([sent.status, sent.warning], [200, '']);
    assert.equal(JSON.parse(sent.body).challenge, JSON.parse(sent.sent).challenge);
  });
  await round.run('ssl_check is acknowledged, and is no command', async () => {
    drain(command);
    assert.equal((await world.post('/sandbox/slack/ssl_check', {})).status, 200);
    assert.equal(command.got.size, 0);
  });
  await round.run('an event that fails is sent again with its number and reason', async () => {
    drain(event);
    let failures = 1;
    await answering(event, () => {
      if (failures-- > 0) throw new Error('fails once');
    }, async () => {
      await world.say('ann', '#waf', '@wafbot fail');
      assert.equal((await event.got.next('the event')).context.retryNum, undefined);
      const { context } = await event.got.next('the retry');
      assert.deepEqual([context.retryNum, context.retryReason], [1, 'http_error']);
    });
  });
}

export async function unanswered(round, world, { command }) {
  await round.run('a command without acknowledgement shows a warning after three seconds', () =>
    answering(command, () => pause(4000), async () => {
      const sent = await world.command('ann', '#waf', 'x');
      assert.equal(sent.acked, false);
      assert.ok(sent.warning);
      assert.ok(sent.took_ms >= 2900);
    }));
  await round.run('a click that gets lost is not sent again', async () => {
    await world.fault({ kind: 'lost_click', times: 1 });
    drain(command);
    const sent = await world.command('ann', '#waf', 'x');
    assert.ok(sent.warning);
    assert.equal(command.got.size, 0);
  });
}
