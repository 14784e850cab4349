// @slack/web-api: what its client sends is taken as Slack takes it, and what comes back is what the client reads.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { WebClient } from '@slack/web-api';
import { button, openWorld, pause, plain, refused, section, silent, until } from '../world.mjs';

const { version } = createRequire(import.meta.url)('@slack/web-api/package.json');
const waf = 'C0WAF0001';
const globex = 'C0WAF0002';
const legacy = 'C0LEGACY6';
const random = 'C0RANDOM3';
const board = 'C0BOARD04'; // private, without the bot
const archived = 'C0OLD0005';
const ann = 'U0ANN0001';
const once = { retries: 0 };

// clientOf is a client of the world. Its own retries stay on unless options say otherwise.
export const clientOf = (world, options = {}, token = world.botToken) =>
  new WebClient(token, { slackApiUrl: world.slackApiUrl, logger: silent, ...options });

export default {
  client: '@slack/web-api',
  version,
  async play(round) {
    const world = await openWorld();
    try {
      await posting(round, world);
      await blocks(round, world);
      await editing(round, world);
      await threads(round, world);
      await history(round, world);
      await ephemeral(round, world);
      await channels(round, world);
      await people(round, world);
      await home(round, world);
      await tokens(round, world);
      await bodies(round, world);
      await methods(round, world);
    } finally {
      world.close();
    }
    await pace(round);
  },
};

async function posting(round, world) {
  const slack = clientOf(world);
  await round.run('a message with blocks and metadata is posted as it was sent', async () => {
    const metadata = { event_type: 'card', event_payload: { id: 'a1', rev: 2 } };
    const posted = await slack.chat.postMessage({ channel: waf, text: 'fallback', blocks: [section('*bold*')], metadata });
    assert.equal(posted.channel, waf);
    assert.match(posted.ts, /^\d{10}\.\d{6}$/);
    assert.equal(posted.message.text, 'fallback');
    assert.deepEqual(posted.message.metadata, metadata);
    assert.equal(posted.message.bot_id, 'B0WAFBOT');
    assert.equal(posted.message.bot_profile.app_id, 'A0WAFBOT');
    assert.equal(posted.message.user, 'U0WAFBOT');
    assert.ok(posted.message.blocks[0].block_id, 'a block without an id gets one');
    const seen = await world.message('ann', 'waf', posted.ts);
    assert.equal(seen.blocks[0].text.text, '*bold*');
    assert.deepEqual(seen.metadata, metadata);
  });
  await round.run('a channel goes by name, too, and its id is answered', async () => {
    assert.equal((await slack.chat.postMessage({ channel: '#waf-globex', text: 'x' })).channel, globex);
  });
  await round.run("a post to a user's id opens the direct message", async () => {
    const posted = await slack.chat.postMessage({ channel: ann, text: 'for ann' });
    assert.match(posted.channel, /^D/);
    assert.equal((await world.message('ann', '@wafbot', posted.ts)).text, 'for ann');
  });
  await round.run('nothing to say is refused', () => refused('no_text', slack.chat.postMessage({ channel: waf, text: '' })));
  await round.run('a channel that there is not', () => refused('channel_not_found', slack.chat.postMessage({ channel: 'C0NOWHERE', text: 'x' })));
  await round.run('a private channel without the bot does not exist for it', () => refused('channel_not_found', slack.chat.postMessage({ channel: board, text: 'x' })));
  await round.run('an archived channel', () => refused('is_archived', slack.chat.postMessage({ channel: archived, text: 'x' })));
  await round.run('a public channel without the bot', async () => {
    await world.post('/sandbox/slack/channel', { channel: '#random', bot_is_member: false });
    await refused('not_in_channel', slack.chat.postMessage({ channel: random, text: 'x' }));
    await world.post('/sandbox/slack/channel', { channel: '#random', bot_is_member: true });
  });
  await round.run('markdown_text alone is a message', async () => {
    const posted = await slack.chat.postMessage({ channel: legacy, markdown_text: '**bold**' });
    assert.equal((await world.message('ann', 'legacy', posted.ts)).text, '**bold**');
  });
  await round.run('markdown_text beside text is refused', () =>
    refused('markdown_text_conflict', slack.chat.postMessage({ channel: legacy, markdown_text: '*a*', text: 'a' })));
  await round.run('a text over 4,040 characters comes as several messages', async () => {
    const before = (await world.messages('ann', 'random')).length;
    await slack.chat.postMessage({ channel: random, text: 'x'.repeat(5000) });
    assert.equal((await world.messages('ann', 'random')).length, before + 2);
  });
  await round.run('a text over 40,000 characters is cut, with a warning', async () => {
    const posted = await slack.chat.postMessage({ channel: legacy, text: 'y'.repeat(40_001), blocks: [section('x')] });
    assert.equal(posted.message.text.length, 40_000);
    assert.equal(posted.warning, 'message_truncated');
    assert.deepEqual(posted.response_metadata.warnings, ['message_truncated']);
  });
  await round.run('attachments with a colour and blocks are kept', async () => {
    const posted = await slack.chat.postMessage({ channel: legacy, text: 'x', attachments: [{ color: '#a30200', blocks: [section('red')] }] });
    const [attachment] = (await world.message('ann', 'legacy', posted.ts)).attachments;
    assert.equal(attachment.color, '#a30200');
    assert.equal(attachment.blocks[0].text.text, 'red');
  });
  await round.run('101 attachments are too many', () =>
    refused('too_many_attachments', slack.chat.postMessage({ channel: legacy, text: 'x', attachments: Array.from({ length: 101 }, () => ({ text: 'x' })) })));
  await round.run('metadata without a payload is refused', () =>
    refused('invalid_metadata_schema', slack.chat.postMessage({ channel: legacy, text: 'x', metadata: { event_type: 'a' } })));
  await round.run('unfurling is switched off without a complaint', async () => {
    const posted = await slack.chat.postMessage({ channel: random, text: 'https://example.com', unfurl_links: false, unfurl_media: false });
    assert.equal(posted.ok, true);
  });
  await round.run('a scheduled message comes at its time', async () => {
    const at = Math.ceil(Date.now() / 1000) + 1;
    const promised = await slack.chat.scheduleMessage({ channel: random, text: 'later', post_at: at });
    assert.equal(promised.post_at, at);
    assert.ok(promised.scheduled_message_id);
    assert.ok(!(await world.messages('ann', 'random')).some((m) => m.text === 'later'));
    await until('the scheduled message', async () => (await world.messages('ann', 'random')).some((m) => m.text === 'later'));
  });
  await round.run('a time that is over is refused', () => refused('time_in_past', slack.chat.scheduleMessage({ channel: random, text: 'x', post_at: 1 })));
}

// blocks states what Block Kit allows: a message with these blocks is taken, or refused with the place of what is wrong.
async function blocks(round, world) {
  const slack = clientOf(world);
  // A thread in a direct message each, so that no case waits for the pace of a channel.
  let turn = 0;
  const people = [ann, 'U0ROB0002', 'U0VIC0003'];
  const post = (...list) => slack.chat.postMessage({ channel: people[turn++ % people.length], text: 'x', blocks: list });
  const actions = (...elements) => ({ type: 'actions', elements });
  const select = (value) => ({ type: 'static_select', placeholder: plain('p'), options: [{ text: plain('o'), value }] });
  const takes = (name, ...list) => round.run(`taken: ${name}`, async () => assert.equal((await post(...list)).ok, true));
  const refuses = (name, at, ...list) =>
    round.run(`refused: ${name}`, async () => {
      const answer = await refused('invalid_blocks', post(...list));
      assert.ok(answer.errors.some((line) => line.includes(`[json-pointer:${at}]`)), JSON.stringify(answer.errors));
      assert.ok(answer.response_metadata.messages.every((line) => line.startsWith('[ERROR] ')));
    });
  await takes('3,000 characters in a section', section('x'.repeat(3000)));
  await refuses('3,001 characters in a section', '/blocks/0/text/text', section('x'.repeat(3001)));
  await refuses('a section of nothing', '/blocks/0', { type: 'section' });
  await takes('50 blocks', ...Array.from({ length: 50 }, () => ({ type: 'divider' })));
  await refuses('51 blocks', '/blocks', ...Array.from({ length: 51 }, () => ({ type: 'divider' })));
  await refuses('a type that there is not', '/blocks/0/type', { type: 'nonsense' });
  await takes('an action_id in two blocks', actions(button('a', { action_id: 'same' })), actions(button('b', { action_id: 'same' })));
  await refuses('an action_id twice in a block', '/blocks/0/elements/1/action_id', actions(button('a', { action_id: 'same' }), button('b', { action_id: 'same' })));
  await refuses('a block_id twice', '/blocks/1/block_id', section('a', { block_id: 'same' }), section('b', { block_id: 'same' }));
  await takes("a button's text of 75 characters", actions(button('b'.repeat(75))));
  await refuses("a button's text of 76 characters", '/blocks/0/elements/0/text/text', actions(button('b'.repeat(76))));
  await takes('a button with an address', actions(button('a', { url: 'https://example.com/x?y=1' })));
  for (const url of ['not a url', 'javascript:alert(1)']) {
    await refuses(`a button to ${url}`, '/blocks/0/elements/0/url', actions(button('a', { url })));
    await refuses(`an image at ${url}`, '/blocks/0/image_url', { type: 'image', alt_text: 'a', image_url: url });
  }
  await refuses('an image at an address of 3,001 characters', '/blocks/0/image_url', { type: 'image', alt_text: 'a', image_url: `https://example.com/${'x'.repeat(2981)}` });
  await takes("an option's value of 150 characters", actions(select('v'.repeat(150))));
  await refuses("an option's value of 151 characters", '/blocks/0/elements/0/options/0/value', actions(select('v'.repeat(151))));
  await takes('a header of 150 characters', { type: 'header', text: plain('h'.repeat(150)) });
  await refuses('a header of 151 characters', '/blocks/0/text/text', { type: 'header', text: plain('h'.repeat(151)) });
  await refuses('a header in mrkdwn', '/blocks/0/text/type', { type: 'header', text: { type: 'mrkdwn', text: 'h' } });
  await refuses('eleven elements in a context', '/blocks/0/elements', { type: 'context', elements: Array.from({ length: 11 }, () => plain('x')) });
  await refuses('26 buttons in a row', '/blocks/0/elements', actions(...Array.from({ length: 26 }, (_, i) => button('b', { action_id: `a${i}` }))));
  await refuses('six options in an overflow menu', '/blocks/0/accessory/options', section('x', {
    accessory: { type: 'overflow', options: Array.from({ length: 6 }, (_, i) => ({ text: plain(`${i}`), value: `${i}` })) },
  }));
  await takes('rich text', { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: 'x', style: { bold: true } }, { type: 'user', user_id: ann }] }] });
  await takes('markdown', { type: 'markdown', text: '# title' });
  await takes('a table', { type: 'table', rows: [[{ type: 'raw_text', text: 'a' }, { type: 'raw_text', text: 'b' }]] });
  await round.run('refused: more than 12,000 characters in all blocks', () =>
    refused('msg_blocks_too_long', post(...Array.from({ length: 5 }, () => section('x'.repeat(2900))))));
  await round.run('refused: blocks that are no list', () =>
    refused('invalid_blocks_format', slack.apiCall('chat.postMessage', { channel: ann, text: 'x', blocks: '{"type":"divider"}' })));
}

async function editing(round, world) {
  const slack = clientOf(world);
  const post = async (more = {}) => (await slack.chat.postMessage({ channel: globex, text: 'first', ...more })).ts;
  await round.run('an edit replaces text and blocks, and keeps metadata', async () => {
    const metadata = { event_type: 'card', event_payload: { id: 'a1' } };
    const ts = await post({ metadata, blocks: [section('one')] });
    const edited = await slack.chat.update({ channel: globex, ts, text: 'second', blocks: [section('two')] });
    assert.equal(edited.ts, ts);
    assert.equal(edited.text, 'second');
    assert.deepEqual(edited.message.metadata, metadata);
    assert.equal(edited.message.edited, undefined, 'an edit with blocks leaves no mark');
    const seen = await world.message('ann', 'waf-globex', ts);
    assert.equal(seen.blocks[0].text.text, 'two');
    assert.equal(seen.edited, 1);
    assert.deepEqual(seen.metadata, metadata);
  });
  await round.run('an edit with text alone removes the blocks', async () => {
    const ts = await post({ blocks: [section('one')] });
    const edited = await slack.chat.update({ channel: globex, ts, text: 'second' });
    assert.equal(edited.message.blocks, undefined);
    assert.equal((await world.message('ann', 'waf-globex', ts)).blocks, undefined);
  });
  await round.run("another author's message can't be edited or deleted", async () => {
    const { ts } = await world.say('ann', '#waf-globex', 'mine');
    await refused('cant_update_message', slack.chat.update({ channel: globex, ts, text: 'x' }));
    await refused('cant_delete_message', slack.chat.delete({ channel: globex, ts }));
  });
  await round.run('a message that there is not', () => refused('message_not_found', slack.chat.update({ channel: globex, ts: '1.000001', text: 'x' })));
  await round.run('an edit of 4,001 characters is refused', async () => {
    const ts = await post();
    await refused('msg_too_long', slack.chat.update({ channel: globex, ts, text: 'x'.repeat(4001) }));
  });
  await round.run('an edit of nothing is refused', async () => {
    const ts = await post();
    await refused('no_text', slack.chat.update({ channel: globex, ts, text: '' }));
  });
  await round.run('an edit in an archived channel is refused', async () => {
    const { ts } = await slack.chat.postMessage({ channel: legacy, text: 'x' });
    await world.post('/sandbox/slack/channel', { channel: '#legacy', archived: true });
    await refused('is_inactive', slack.chat.update({ channel: legacy, ts, text: 'y' }));
    await world.post('/sandbox/slack/channel', { channel: '#legacy', archived: false });
  });
  await round.run("the workspace's setting against late edits", async () => {
    const ts = await post();
    await world.fault({ kind: 'edit_window_closed', times: 1 });
    await refused('edit_window_closed', slack.chat.update({ channel: globex, ts, text: 'y' }));
  });
  await round.run('a deleted message is gone', async () => {
    const ts = await post();
    assert.equal((await slack.chat.delete({ channel: globex, ts })).ts, ts);
    assert.equal(await world.message('ann', 'waf-globex', ts), undefined);
    await refused('message_not_found', slack.chat.delete({ channel: globex, ts }));
  });
  await round.run('a link to a message', async () => {
    const ts = await post();
    const { permalink } = await slack.chat.getPermalink({ channel: globex, message_ts: ts });
    assert.equal(permalink, `https://acme.slack.com/archives/${globex}/p${ts.replace('.', '')}`);
    await refused('message_not_found', slack.chat.getPermalink({ channel: globex, message_ts: '1.000001' }));
  });
}

async function threads(round, world) {
  const slack = clientOf(world);
  await round.run('replies are listed after their parent, which counts them', async () => {
    const parent = await slack.chat.postMessage({ channel: random, text: 'parent' });
    const reply = await slack.chat.postMessage({ channel: random, text: 'reply', thread_ts: parent.ts });
    assert.equal(reply.message.thread_ts, parent.ts);
    const { messages } = await slack.conversations.replies({ channel: random, ts: parent.ts });
    assert.deepEqual(messages.map((m) => m.text), ['parent', 'reply']);
    assert.equal(messages[0].reply_count, 1);
    assert.equal(messages[0].latest_reply, reply.ts);
    assert.equal(messages[1].parent_user_id, 'U0WAFBOT');
    const listed = await slack.conversations.history({ channel: random, limit: 1 });
    assert.equal(listed.messages[0].ts, parent.ts, 'a reply is not in the channel');
    await refused('cannot_reply_to_message', slack.chat.postMessage({ channel: random, text: 'x', thread_ts: reply.ts }));
  });
  await round.run('a reply that is sent to the channel, too', async () => {
    const parent = await slack.chat.postMessage({ channel: random, text: 'parent' });
    await slack.chat.postMessage({ channel: random, text: 'loud', thread_ts: parent.ts, reply_broadcast: true });
    const { messages } = await slack.conversations.history({ channel: random, limit: 1 });
    assert.equal(messages[0].text, 'loud');
    assert.equal(messages[0].subtype, 'thread_broadcast');
  });
  await round.run('a thread that there is not', () => refused('thread_not_found', slack.conversations.replies({ channel: random, ts: '1.000001' })));
}

async function history(round, world) {
  const slack = clientOf(world);
  const stamps = [];
  await round.run('history is newest first, and a page at a time', async () => {
    for (let i = 0; i < 5; i++) stamps.push((await world.say('ann', '#waf', `line ${i}`)).ts);
    const seen = [];
    for await (const page of slack.paginate('conversations.history', { channel: waf, oldest: stamps[0], inclusive: true, limit: 2 })) {
      assert.ok(page.messages.length <= 2);
      seen.push(...page.messages.map((m) => m.text));
    }
    assert.deepEqual(seen, ['line 4', 'line 3', 'line 2', 'line 1', 'line 0']);
  });
  await round.run('oldest and latest are left out unless inclusive', async () => {
    const between = { channel: waf, oldest: stamps[1], latest: stamps[3] };
    const texts = async (more) => (await slack.conversations.history({ ...between, ...more })).messages.map((m) => m.text);
    assert.deepEqual(await texts({}), ['line 2']);
    assert.deepEqual(await texts({ inclusive: true }), ['line 3', 'line 2', 'line 1']);
  });
  await round.run('metadata comes whole only when asked for', async () => {
    const metadata = { event_type: 'card', event_payload: { id: 'a1' } };
    const { ts } = await slack.chat.postMessage({ channel: globex, text: 'x', metadata });
    const read = async (more) => (await slack.conversations.history({ channel: globex, oldest: ts, inclusive: true, ...more })).messages.at(-1).metadata;
    assert.deepEqual(await read({ include_all_metadata: true }), metadata);
    assert.deepEqual(await read({}), { event_type: 'card' });
  });
  await round.run("a person's message has the blocks that Slack's client sends", async () => {
    const { ts } = await world.say('ann', '#waf', '@rob look at https://example.com');
    const { messages } = await slack.conversations.history({ channel: waf, oldest: ts, inclusive: true });
    assert.equal(messages[0].text, '<@U0ROB0002> look at <https://example.com>');
    assert.equal(messages[0].blocks[0].type, 'rich_text');
    assert.deepEqual(messages[0].blocks[0].elements[0].elements.map((e) => e.type), ['user', 'text', 'link']);
    assert.ok(messages[0].client_msg_id);
  });
  await round.run('a cursor that there is not', () => refused('invalid_cursor', slack.conversations.history({ channel: waf, cursor: 'nonsense' })));
  await round.run('a timestamp that is none', () => refused('invalid_ts_oldest', slack.conversations.history({ channel: waf, oldest: 'yesterday' })));
  await round.run('history of a channel without the bot', async () => {
    await refused('channel_not_found', slack.conversations.history({ channel: board }));
    await world.post('/sandbox/slack/channel', { channel: '#legacy', bot_is_member: false });
    await refused('not_in_channel', slack.conversations.history({ channel: legacy }));
    await world.post('/sandbox/slack/channel', { channel: '#legacy', bot_is_member: true });
  });
}

async function ephemeral(round, world) {
  const slack = clientOf(world);
  await round.run('an ephemeral message is for one person, and in no history', async () => {
    const { message_ts: ts } = await slack.chat.postEphemeral({ channel: waf, user: ann, text: 'psst', blocks: [section('psst')] });
    assert.equal((await world.message('ann', 'waf', ts)).ephemeral, true);
    assert.equal(await world.message('rob', 'waf', ts), undefined);
    const { messages } = await slack.conversations.history({ channel: waf });
    assert.ok(!messages.some((m) => m.ts === ts));
    await refused('message_not_found', slack.chat.update({ channel: waf, ts, text: 'x' }));
  });
  await round.run('an ephemeral message in a thread', async () => {
    const { ts } = await world.say('ann', '#waf', 'parent');
    const answered = await slack.chat.postEphemeral({ channel: waf, user: ann, text: 'psst', thread_ts: ts });
    assert.equal((await world.message('ann', 'waf', answered.message_ts)).thread_ts, ts);
  });
  await round.run('an ephemeral message for who is not there', () =>
    refused('user_not_in_channel', slack.chat.postEphemeral({ channel: waf, user: 'U0NOBODY1', text: 'x' })));
}

async function channels(round, world) {
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

async function people(round, world) {
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

async function home(round, world) {
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

async function tokens(round, world) {
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
async function bodies(round, world) {
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

async function methods(round, world) {
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
async function pace(round) {
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
