// @slack/bolt, over Socket Mode and over HTTP: what people do reaches its listeners, and what these answer reaches people.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import bolt from '@slack/bolt';
import { button, inbox, openWorld, pause, plain, refused, section, silent, until } from '../world.mjs';

const { version } = createRequire(import.meta.url)('@slack/bolt/package.json');
const waf = 'C0WAF0001';
const ann = 'U0ANN0001';

export default ['Socket Mode', 'HTTP'].map((way) => ({
  client: `@slack/bolt over ${way}`,
  version,
  async play(round) {
    const world = await openWorld();
    const { app, kinds, stop } = await startApp(world, way);
    try {
      await commands(round, world, kinds);
      await clicks(round, world, app, kinds);
      await responses(round, world, app, kinds);
      await events(round, world, app, kinds);
      await modals(round, world, app, kinds);
      await stacks(round, world, app, kinds);
      await submissions(round, world, app, kinds);
      await homes(round, world, app, kinds);
      if (way === 'HTTP') await signatures(round, world, kinds);
      await unanswered(round, world, kinds);
    } finally {
      await stop();
      world.close();
    }
  },
}));

// startApp starts a Bolt app whose listeners call what a case has set, and acknowledge what no case waits for.
async function startApp(world, way) {
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
async function answering(kind, then, play) {
  kind.then = then;
  try {
    return await play();
  } finally {
    kind.then = null;
  }
}

// card posts a message with buttons to a person's direct message, where no other case posts.
async function card(app, blocks, person = ann) {
  const { channel, ts } = await app.client.chat.postMessage({ channel: person, text: 'card', blocks });
  return { channel, ts };
}

const actions = (...elements) => ({ type: 'actions', block_id: 'row', elements });
const go = button('Go', { action_id: 'go', value: 'deny 203.0.113.7' });
const option = (text) => ({ text: plain(text), value: text.toLowerCase() });

async function commands(round, world, { command }) {
  await round.run('a slash command reaches its listener with all its fields', async () => {
    const sent = await world.command('ann', '#waf', 'deny @rob see shop.example.com');
    assert.equal(sent.acked, true);
    const { body } = await command.got.next('the command');
    assert.equal(body.command, '/waf');
    assert.equal(body.text, 'deny <@U0ROB0002|rob> see <http://shop.example.com|shop.example.com>');
    assert.deepEqual([body.user_id, body.user_name, body.channel_id, body.channel_name], [ann, 'ann', waf, 'waf']);
    assert.deepEqual([body.team_id, body.team_domain, body.api_app_id, body.is_enterprise_install], ['T0SANDBOX', 'acme', 'A0WAFBOT', 'false']);
    assert.match(body.response_url, /^http/);
    assert.ok(body.trigger_id);
  });
  await round.run('a text in the acknowledgement is shown to who typed', () =>
    answering(command, ({ ack }) => ack('done'), async () => {
      await world.command('ann', '#waf', 'x');
      await until('the answer', async () => (await world.messages('ann', 'waf')).some((m) => m.ephemeral && m.text === 'done'));
      assert.ok(!(await world.messages('rob', 'waf')).some((m) => m.text === 'done'));
    }));
  await round.run('an acknowledgement can be shown to all', () =>
    answering(command, ({ ack }) => ack({ response_type: 'in_channel', text: 'for all' }), async () => {
      await world.command('ann', '#waf', 'x');
      await until('the answer', async () => (await world.messages('rob', 'waf')).some((m) => !m.ephemeral && m.text === 'for all'));
    }));
  await round.run('a command is answered later, at its response URL', () =>
    answering(command, async ({ ack, respond }) => {
      await ack();
      await respond({ text: 'later', blocks: [section('later')] });
    }, async () => {
      await world.command('ann', '#waf', 'x');
      const seen = await until('the answer', async () => (await world.messages('ann', 'waf')).find((m) => m.text === 'later'));
      assert.equal(seen.ephemeral, true);
      assert.ok(seen.answers);
    }));
  await round.run('a command has no original to replace or to delete', async () => {
    drain(command);
    await world.command('ann', '#waf', 'x');
    const { respond } = await command.got.next('the command');
    await assert.rejects(respond({ text: 'x', replace_original: true }), { statusCode: 400 });
    await assert.rejects(respond({ delete_original: true }), { statusCode: 400 });
  });
  await round.run('say posts in the channel of the command', () =>
    answering(command, async ({ ack, say }) => {
      await ack();
      await say('said');
    }, async () => {
      await world.command('ann', '#waf-globex', 'x');
      await until('the message', async () => (await world.messages('rob', 'waf-globex')).some((m) => m.text === 'said'));
    }));
  await round.run('a command in the direct message', async () => {
    drain(command);
    await world.command('ann', '@wafbot', 'status');
    const { body } = await command.got.next('the command');
    assert.equal(body.channel_name, 'directmessage');
    assert.match(body.channel_id, /^D/);
  });
}

// drain forgets what a listener got in earlier cases.
function drain(kind) {
  kind.got = inbox();
}

async function clicks(round, world, app, { action }) {
  const clicked = async (blocks, label, more = {}) => {
    const at = await card(app, blocks);
    drain(action);
    const sent = await world.click('ann', '@wafbot', at.ts, label, more);
    return { at, sent, got: action.got };
  };
  await round.run('a click carries who, where and what', async () => {
    const { at, sent, got } = await clicked([section('*x*'), actions(go)], 'Go');
    assert.equal(sent.acked, true);
    const { body, payload } = await got.next('the click');
    assert.equal(body.type, 'block_actions');
    assert.deepEqual([body.user.id, body.user.username, body.user.team_id], [ann, 'ann', 'T0SANDBOX']);
    assert.deepEqual([body.channel.id, body.message.ts, body.team.id], [at.channel, at.ts, 'T0SANDBOX']);
    assert.deepEqual(body.container, { type: 'message', message_ts: at.ts, channel_id: at.channel, is_ephemeral: false });
    assert.deepEqual([payload.action_id, payload.block_id, payload.value, payload.type], ['go', 'row', 'deny 203.0.113.7', 'button']);
    assert.deepEqual([payload.text.text, body.message.blocks[0].text.text], ['Go', '*x*']);
    assert.match(payload.action_ts, /^\d{10}\.\d{6}$/);
    assert.deepEqual(body.state.values, {});
    assert.ok(body.trigger_id && body.response_url);
    assert.equal(body.is_enterprise_install, false);
  });
  await round.run('a menu sends the option that was chosen', async () => {
    const menu = { type: 'overflow', action_id: 'more', options: [option('One'), option('Two')] };
    const { got } = await clicked([section('x', { block_id: 'menu', accessory: menu })], 'Two');
    const { payload } = await got.next('the choice');
    assert.deepEqual([payload.type, payload.block_id, payload.selected_option.value, payload.selected_option.text.text], ['overflow', 'menu', 'two', 'Two']);
  });
  await round.run('a select in a message sends its option', async () => {
    const select = { type: 'static_select', action_id: 'pick', placeholder: plain('p'), options: [option('One'), option('Two')] };
    const { got } = await clicked([actions(select)], 'pick', { values: { pick: 'Two' } });
    const { body, payload } = await got.next('the choice');
    assert.deepEqual([payload.type, payload.selected_option.value], ['static_select', 'two']);
    assert.equal(body.state.values.row.pick.selected_option.value, 'two');
  });
  await round.differs('message-state', 'what was chosen in a message goes with its next click', async () => {
    const select = { type: 'static_select', action_id: 'pick', placeholder: plain('p'), options: [option('One'), option('Two')] };
    const { at } = await clicked([actions(select, go)], 'pick', { values: { pick: 'Two' } });
    drain(action);
    await world.click('ann', '@wafbot', at.ts, 'Go');
    const { body } = await action.got.next('the click');
    assert.equal(body.state.values.row.pick.selected_option?.value, 'two');
  });
  await round.run('a button that is only an address sends a click, too', async () => {
    const { got } = await clicked([actions(button('Open', { action_id: 'open', url: 'https://example.com' }))], 'Open');
    assert.equal((await got.next('the click')).payload.url, 'https://example.com');
  });
  await round.run('a click that the person does not confirm is not sent', async () => {
    const confirm = { title: plain('Sure?'), text: plain('x'), confirm: plain('Yes'), deny: plain('No') };
    const { sent, got } = await clicked([actions({ ...go, confirm })], 'Go', { cancel: true });
    assert.equal(sent.via, '');
    assert.equal(got.size, 0);
  });
  await round.run('a click on an ephemeral message carries no message', async () => {
    const { message_ts: ts } = await app.client.chat.postEphemeral({ channel: waf, user: ann, text: 'x', blocks: [actions(go)] });
    drain(action);
    await world.click('ann', '#waf', ts, 'Go');
    const { body } = await action.got.next('the click');
    assert.equal(body.container.is_ephemeral, true);
    assert.equal(body.message, undefined);
  });
  await round.run('a click in a thread says which', async () => {
    const parent = await card(app, [section('parent')]);
    const reply = await app.client.chat.postMessage({ channel: parent.channel, thread_ts: parent.ts, text: 'x', blocks: [actions(go)] });
    drain(action);
    await world.click('ann', '@wafbot', reply.ts, 'Go');
    const { body } = await action.got.next('the click');
    assert.deepEqual([body.container.thread_ts, body.message.thread_ts], [parent.ts, parent.ts]);
  });
}

async function responses(round, world, app, { action }) {
  // responding clicks a card's button, and gives its respond to the case. The click is acknowledged at once.
  const responding = async (play, person = 'ann', id = ann) => {
    const at = await card(app, [section('card'), actions(go)], id);
    drain(action);
    await world.click(person, '@wafbot', at.ts, 'Go');
    const { respond } = await action.got.next('the click');
    const seen = () => world.messages(person, '@wafbot');
    await play(respond, at, seen);
  };
  await round.run('a response adds an ephemeral message', () =>
    responding(async (respond, at, seen) => {
      await respond('psst');
      const answer = (await seen()).find((m) => m.text === 'psst');
      assert.equal(answer.ephemeral, true);
      assert.ok((await seen()).some((m) => m.ts === at.ts), 'the card stays');
    }));
  await round.run('a response for all', () =>
    responding(async (respond, _, seen) => {
      await respond({ text: 'for all', response_type: 'in_channel' });
      assert.equal((await seen()).find((m) => m.text === 'for all').ephemeral, false);
    }));
  await round.run('a response in a thread', () =>
    responding(async (respond, at, seen) => {
      await respond({ text: 'in thread', response_type: 'in_channel', thread_ts: at.ts });
      assert.equal((await seen()).find((m) => m.text === 'in thread').thread_ts, at.ts);
    }, 'rob', 'U0ROB0002'));
  await round.run('a response replaces the card', () =>
    responding(async (respond, at, seen) => {
      await respond({ text: 'new', blocks: [section('new')], replace_original: true });
      const card = (await seen()).find((m) => m.ts === at.ts);
      assert.deepEqual([card.text, card.blocks[0].text.text, card.edited], ['new', 'new', 1]);
    }, 'rob', 'U0ROB0002'));
  await round.run('a response deletes the card', () =>
    responding(async (respond, at, seen) => {
      await respond({ delete_original: true });
      assert.ok(!(await seen()).some((m) => m.ts === at.ts));
      await assert.rejects(respond({ text: 'x', replace_original: true }), { statusCode: 400 });
    }, 'rob', 'U0ROB0002'));
  await round.run('a response URL takes five answers, and no sixth', () =>
    responding(async (respond, _, seen) => {
      for (let i = 1; i <= 5; i++) await respond(`answer ${i}`);
      await assert.rejects(respond('answer 6'), { statusCode: 404 });
      assert.equal((await seen()).filter((m) => m.text.startsWith('answer')).length, 5);
    }));
  await round.run('an ephemeral message is replaced, but never for all', async () => {
    const { message_ts: ts } = await app.client.chat.postEphemeral({ channel: waf, user: ann, text: 'x', blocks: [actions(go)] });
    drain(action);
    await world.click('ann', '#waf', ts, 'Go');
    const { respond } = await action.got.next('the click');
    await respond({ text: 'mine', replace_original: true });
    assert.equal((await world.message('ann', 'waf', ts)).text, 'mine');
    await assert.rejects(respond({ text: 'x', replace_original: true, response_type: 'in_channel' }), { statusCode: 400 });
  });
  await round.run('a response that Slack refuses', () =>
    responding((respond) => assert.rejects(respond({ text: 'x', blocks: [section('x'.repeat(3001))] }), { statusCode: 400 }), 'vic', 'U0VIC0003'));
  await round.run('a response that comes too fast is told to wait', () =>
    responding(async (respond) => {
      await world.fault({ kind: 'ratelimited', method: 'response_url', times: 1 });
      await assert.rejects(respond('x'), { statusCode: 429 });
    }, 'vic', 'U0VIC0003'));
}

async function events(round, world, app, { event, message }) {
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

const view = (title, blocks, more = {}) => ({ type: 'modal', callback_id: 'form', title: plain(title), submit: plain('Send'), blocks, ...more });
const input = (id, element, more = {}) => ({ type: 'input', block_id: id, label: plain(`The ${id}`), element: { action_id: 'value', ...element }, ...more });
const reason = input('reason', { type: 'plain_text_input' });

// opened has a command open a modal, and returns the answer of views.open.
async function opened(world, app, { command }, modal, person = 'ann') {
  drain(command);
  await world.command(person, '#waf', 'form');
  const { body } = await command.got.next('the command');
  return app.client.views.open({ trigger_id: body.trigger_id, view: modal });
}

async function modals(round, world, app, kinds) {
  await round.run('a modal opens for who typed the command', async () => {
    const { view: answered } = await opened(world, app, kinds, view('One', [reason], { private_metadata: 'a1', external_id: 'x1' }));
    const seen = await world.modal('ann');
    assert.equal(seen.id, answered.id);
    assert.deepEqual([answered.private_metadata, answered.external_id, answered.callback_id, answered.root_view_id], ['a1', 'x1', 'form', answered.id]);
    assert.equal(await world.modal('rob'), null);
  });
  await round.run('a modal is updated by its id and by its own name, over the version that was read', async () => {
    const seen = await world.modal('ann');
    const { view: two } = await app.client.views.update({ view_id: seen.id, hash: seen.hash, view: view('Two', [reason], { external_id: 'x1' }) });
    await refused('hash_conflict', app.client.views.update({ view_id: seen.id, hash: seen.hash, view: view('No', [reason]) }));
    await app.client.views.update({ external_id: 'x1', hash: two.hash, view: view('Three', [reason], { external_id: 'x1' }) });
    assert.equal((await world.modal('ann')).raw.title.text, 'Three');
    await refused('not_found', app.client.views.update({ view_id: 'V0NOWHERE', view: view('No', [reason]) }));
  });
  await round.run('an update that Slack refuses leaves the modal as it is', async () => {
    const answer = await refused('invalid_arguments', app.client.views.update({ view_id: (await world.modal('ann')).id, view: view('x'.repeat(25), [reason]) }));
    assert.ok(answer.response_metadata.messages.some((line) => line.includes('[json-pointer:/view/title/text]')), JSON.stringify(answer));
    assert.equal((await world.modal('ann')).raw.title.text, 'Three');
  });
  await round.run('a name of a view is taken once', () => refused('duplicate_external_id', opened(world, app, kinds, view('x', [reason], { external_id: 'x1' }), 'rob')));
  await round.run('inputs without a submit button are refused', () => refused('invalid_arguments', opened(world, app, kinds, view('x', [reason], { submit: undefined }), 'rob')));
  await round.run('an initial value over its max_length is refused', async () => {
    const long = input('reason', { type: 'plain_text_input', max_length: 3, initial_value: 'four' });
    const answer = await refused('invalid_arguments', opened(world, app, kinds, view('x', [long]), 'rob'));
    assert.ok(answer.response_metadata.messages.some((line) => line.includes('[json-pointer:/view/blocks/0/element/initial_value]')), JSON.stringify(answer));
  });
  await round.run('a trigger is good once', async () => {
    drain(kinds.command);
    await world.command('rob', '#waf', 'form');
    const { body } = await kinds.command.got.next('the command');
    await app.client.views.open({ trigger_id: body.trigger_id, view: view('One', [reason]) });
    await refused('exchanged_trigger_id', app.client.views.open({ trigger_id: body.trigger_id, view: view('Two', [reason]) }));
  });
  await round.run('a trigger is good for three seconds', async () => {
    drain(kinds.command);
    await world.command('vic', '#waf', 'form');
    const { body } = await kinds.command.got.next('the command');
    await pause(3200);
    await refused('expired_trigger_id', app.client.views.open({ trigger_id: body.trigger_id, view: view('x', [reason]) }));
  });
  await round.run('a closed modal is told when it asked for it', async () => {
    await opened(world, app, kinds, view('Told', [section('x')], { notify_on_close: true, private_metadata: 'm' }), 'vic');
    drain(kinds.closed);
    await world.post('/sandbox/slack/close', { user: 'vic' });
    const { body } = await kinds.closed.got.next('the closing');
    assert.deepEqual([body.type, body.is_cleared, body.view.private_metadata, body.user.id], ['view_closed', false, 'm', 'U0VIC0003']);
  });
}

async function stacks(round, world, app, { action, closed, ...kinds }) {
  // push clicks a button in the modal that vic sees, and pushes another one on it.
  const push = async (title) => {
    drain(action);
    await world.post('/sandbox/slack/click', { user: 'vic', view: 'modal', button: 'Go' });
    const { body } = await action.got.next('the click');
    assert.equal(body.container.type, 'view');
    return app.client.views.push({ trigger_id: body.trigger_id, view: view(title, [actions(go)], { notify_on_close: true }) });
  };
  await round.run('modals lie on each other, three at most', async () => {
    const { view: first } = await opened(world, app, kinds, view('One', [actions(go)], { notify_on_close: true }), 'vic');
    const { view: second } = await push('Two');
    assert.deepEqual([second.root_view_id, second.previous_view_id], [first.id, first.id]);
    const { view: third } = await push('Three');
    assert.deepEqual([third.root_view_id, third.previous_view_id], [first.id, second.id]);
    await refused('push_limit_reached', push('Four'));
    assert.equal((await world.modal('vic')).depth, 2);
  });
  await round.run('the button that closes a modal shows the one beneath', async () => {
    await world.post('/sandbox/slack/close', { user: 'vic' });
    assert.equal((await world.modal('vic')).raw.title.text, 'Two');
  });
  await round.run('the cross closes all, and says so', async () => {
    drain(closed);
    await world.post('/sandbox/slack/close', { user: 'vic', all: true });
    const got = [await closed.got.next('a closing'), await closed.got.next('a closing')];
    assert.deepEqual(got.map(({ body }) => body.is_cleared), [true, true]);
    assert.equal(await world.modal('vic'), null);
  });
}

const everyInput = [
  input('text', { type: 'plain_text_input', multiline: true }),
  input('one', { type: 'static_select', options: [option('One'), option('Two')] }),
  input('many', { type: 'multi_static_select', options: [option('One'), option('Two'), option('Three')] }),
  input('user', { type: 'users_select' }),
  input('users', { type: 'multi_users_select' }),
  input('channel', { type: 'conversations_select' }),
  input('date', { type: 'datepicker' }),
  input('time', { type: 'timepicker' }),
  input('radio', { type: 'radio_buttons', options: [option('One'), option('Two')] }),
  input('boxes', { type: 'checkboxes', options: [option('One'), option('Two')] }),
  input('number', { type: 'number_input', is_decimal_allowed: false }),
  input('mail', { type: 'email_text_input' }),
  input('link', { type: 'url_text_input' }),
  input('nothing', { type: 'plain_text_input' }, { optional: true }),
];
const everyValue = {
  text: 'two\nlines', one: 'Two', many: ['One', 'Three'], user: 'rob', users: ['rob', 'vic'], channel: '#waf', date: '2026-11-25', time: '12:34',
  radio: 'One', boxes: ['Two'], number: '7', mail: 'a@example.com', link: 'https://example.com',
};

async function submissions(round, world, app, kinds) {
  const { submission, action } = kinds;
  await round.run('a submission carries what was filled in', async () => {
    await opened(world, app, kinds, view('All', everyInput, { private_metadata: 'm' }));
    drain(submission);
    const sent = await world.submit('ann', everyValue);
    assert.equal(sent.outcome, 'closed', sent.warning);
    const { body, view: got } = await submission.got.next('the submission');
    assert.deepEqual([body.type, body.user.id, got.callback_id, got.private_metadata], ['view_submission', ann, 'form', 'm']);
    const value = (id) => got.state.values[id].value;
    assert.deepEqual(value('text'), { type: 'plain_text_input', value: 'two\nlines' });
    assert.equal(value('one').selected_option.value, 'two');
    assert.deepEqual(value('many').selected_options.map((o) => o.value), ['one', 'three']);
    assert.equal(value('user').selected_user, 'U0ROB0002');
    assert.deepEqual(value('users').selected_users, ['U0ROB0002', 'U0VIC0003']);
    assert.equal(value('channel').selected_conversation, waf);
    assert.deepEqual([value('date').selected_date, value('time').selected_time], ['2026-11-25', '12:34']);
    assert.deepEqual([value('radio').selected_option.value, value('boxes').selected_options[0].value], ['one', 'two']);
    assert.deepEqual([value('number').value, value('mail').value, value('link').value], ['7', 'a@example.com', 'https://example.com']);
    assert.deepEqual(value('nothing'), { type: 'plain_text_input', value: null });
    assert.equal(await world.modal('ann'), null);
  });
  await round.run('what the client finds wrong is not sent', async () => {
    await opened(world, app, kinds, view('Form', [reason]));
    drain(submission);
    const sent = await world.submit('ann', { reason: '' });
    assert.equal(sent.outcome, 'incomplete');
    assert.ok(sent.errors['The reason']);
    assert.equal(submission.got.size, 0);
  });
  // These go on with the modal of the case before.
  await round.run("the app's errors stand at their inputs", () =>
    answering(submission, ({ ack }) => ack({ response_action: 'errors', errors: { reason: 'too short' } }), async () => {
      const sent = await world.submit('ann', { reason: 'x' });
      assert.deepEqual([sent.outcome, sent.errors], ['errors', { 'The reason': 'too short' }]);
      assert.equal((await world.modal('ann')).errors.reason, 'too short');
    }));
  await round.run('errors at what is no input are trouble', () =>
    answering(submission, ({ ack }) => ack({ response_action: 'errors', errors: { elsewhere: 'x' } }), async () => {
      const sent = await world.submit('ann', { reason: 'x' });
      assert.equal(sent.outcome, 'failed');
      assert.match(sent.warning, /trouble connecting/);
    }));
  await round.run('an acknowledgement updates the modal', () =>
    answering(submission, ({ ack }) => ack({ response_action: 'update', view: view('Again', [reason]) }), async () => {
      const before = (await world.modal('ann')).id;
      const sent = await world.submit('ann', { reason: 'x' });
      assert.deepEqual([sent.outcome, sent.view.id, sent.view.raw.title.text], ['updated', before, 'Again']);
    }));
  await round.run('an acknowledgement with a view that Slack refuses is trouble', () =>
    answering(submission, ({ ack }) => ack({ response_action: 'update', view: view('x'.repeat(25), [reason]) }), async () => {
      const sent = await world.submit('ann', { reason: 'x' });
      assert.equal(sent.outcome, 'failed');
      assert.equal(sent.view.raw.title.text, 'Again');
    }));
  await round.run('an acknowledgement pushes a modal', () =>
    answering(submission, ({ ack }) => ack({ response_action: 'push', view: view('Pushed', [reason]) }), async () => {
      const sent = await world.submit('ann', { reason: 'x' });
      assert.deepEqual([sent.outcome, sent.view.raw.title.text, sent.view.depth], ['pushed', 'Pushed', 1]);
    }));
  await round.run('an acknowledgement clears all modals', () =>
    answering(submission, ({ ack }) => ack({ response_action: 'clear' }), async () => {
      assert.equal((await world.submit('ann', { reason: 'x' })).outcome, 'cleared');
      assert.equal(await world.modal('ann'), null);
    }));
  await round.run('a change of an input that dispatches is a click with the state', async () => {
    const dispatching = input('kind', { type: 'static_select', options: [option('One'), option('Two')] }, { dispatch_action: true });
    await opened(world, app, kinds, view('Form', [dispatching, reason]));
    drain(action);
    await world.post('/sandbox/slack/click', { user: 'ann', view: 'modal', button: 'kind', values: { kind: 'Two', reason: 'half' } });
    const { body, payload } = await action.got.next('the change');
    assert.equal(payload.selected_option.value, 'two');
    assert.equal(body.view.state.values.reason.value.value, 'half');
    await world.post('/sandbox/slack/close', { user: 'ann', all: true });
  });
  await round.differs('response-urls', 'a submission brings a response URL for the channel that was chosen', async () => {
    await opened(world, app, kinds, view('Form', [input('where', { type: 'conversations_select', response_url_enabled: true })]));
    drain(submission);
    await world.submit('ann', { where: '#waf' });
    const { body } = await submission.got.next('the submission');
    assert.equal(body.response_urls[0]?.channel_id, waf);
  });
  await round.differs('external-select', 'a menu asks the app for its options', async () => {
    await opened(world, app, kinds, view('Form', [input('far', { type: 'external_select', min_query_length: 0 })]));
    try {
      await world.submit('ann', { far: 'x' });
    } finally {
      await world.post('/sandbox/slack/close', { user: 'ann', all: true });
    }
  });
}

async function homes(round, world, app, { event, action }) {
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
async function signatures(round, world, { command, event }) {
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

async function unanswered(round, world, { command }) {
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
