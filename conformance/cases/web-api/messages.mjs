// Messages: posted, edited, in threads, read back, for one person.
import assert from 'node:assert/strict';
import { refused, section, until } from '../../world.mjs';
import { ann, archived, board, clientOf, globex, legacy, random, waf } from './client.mjs';

export async function posting(round, world) {
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

export async function editing(round, world) {
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

export async function threads(round, world) {
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

export async function history(round, world) {
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

export async function ephemeral(round, world) {
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
