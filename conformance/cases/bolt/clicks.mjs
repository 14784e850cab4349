// Commands, clicks, and the answers at their response URLs.
import assert from 'node:assert/strict';
import { button, plain, section, until } from '../../world.mjs';
import { actions, ann, answering, card, drain, go, option, waf } from './app.mjs';

export async function commands(round, world, { command }) {
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

export async function clicks(round, world, app, { action }) {
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

export async function responses(round, world, app, { action }) {
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
