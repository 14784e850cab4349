// Modals: opened, updated, stacked, filled in and submitted.
import assert from 'node:assert/strict';
import { pause, plain, refused, section } from '../../world.mjs';
import { actions, ann, answering, drain, go, option, waf } from './app.mjs';

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

export async function modals(round, world, app, kinds) {
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

export async function stacks(round, world, app, { action, closed, ...kinds }) {
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

export async function submissions(round, world, app, kinds) {
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
