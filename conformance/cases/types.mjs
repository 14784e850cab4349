// Slack's published types: what the emulated workspace sends and answers is handed to the TypeScript compiler as the type that Slack's clients read it as.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { SocketModeClient } from '@slack/socket-mode';
import ts from 'typescript';
import { button, openWorld, plain, section, silent, until } from '../world.mjs';
import { clientOf } from './web-api/client.mjs';

const { version } = createRequire(import.meta.url)('@slack/types/package.json');
const waf = 'C0WAF0001';
const ann = 'U0ANN0001';

export default {
  client: '@slack/types, with those of Bolt and the Web API',
  version,
  async play(round) {
    const world = await openWorld();
    const socket = new SocketModeClient({ appToken: world.appToken, logger: silent, clientPingTimeout: 30_000, clientOptions: { slackApiUrl: world.slackApiUrl } });
    const received = [];
    socket.on('slack_event', ({ body, ack }) => {
      received.push(body);
      ack();
    });
    try {
      await socket.start();
      const values = [...(await answers(world)), ...(await payloads(world, received))];
      const problems = compiled(values);
      for (const [i, { type }] of values.entries()) await round.run(type, async () => assert.deepEqual(problems[i], []));
    } finally {
      await socket.disconnect();
      world.close();
    }
  },
};

const row = { type: 'actions', block_id: 'row', elements: [button('Go', { action_id: 'go', value: 'x' })] };
const menu = section('x', { block_id: 'menu', accessory: { type: 'overflow', action_id: 'more', options: [{ text: plain('One'), value: '1' }] } });
const modal = {
  type: 'modal', callback_id: 'form', title: plain('Form'), submit: plain('Send'), notify_on_close: true,
  blocks: [row, { type: 'input', block_id: 'reason', label: plain('Reason'), element: { type: 'plain_text_input', action_id: 'value' } }],
};

// answers calls methods, and returns each answer with its type.
async function answers(world) {
  const slack = clientOf(world);
  const posted = await slack.chat.postMessage({ channel: waf, text: 'x', blocks: [section('x'), row], metadata: { event_type: 'a', event_payload: { b: 1 } } });
  const reply = await slack.chat.postMessage({ channel: waf, text: 'reply', thread_ts: posted.ts });
  const at = { channel: waf, ts: posted.ts };
  return [
    ['ApiTestResponse', slack.api.test({ foo: 'bar' })],
    ['AppsConnectionsOpenResponse', clientOf(world, {}, world.appToken).apps.connections.open()],
    ['AuthTestResponse', slack.auth.test()],
    ['BotsInfoResponse', slack.bots.info({ bot: 'B0WAFBOT' })],
    ['ChatPostMessageResponse', posted],
    ['ChatPostEphemeralResponse', slack.chat.postEphemeral({ channel: waf, user: ann, text: 'x' })],
    ['ChatUpdateResponse', slack.chat.update({ ...at, text: 'y' })],
    ['ChatGetPermalinkResponse', slack.chat.getPermalink({ channel: waf, message_ts: posted.ts })],
    ['ChatScheduleMessageResponse', slack.chat.scheduleMessage({ channel: waf, text: 'x', post_at: Math.ceil(Date.now() / 1000) + 3600 })],
    ['ConversationsHistoryResponse', slack.conversations.history({ channel: waf, include_all_metadata: true })],
    ['ConversationsRepliesResponse', slack.conversations.replies(at)],
    ['ConversationsInfoResponse', slack.conversations.info({ channel: waf, include_num_members: true })],
    ['ConversationsListResponse', slack.conversations.list()],
    ['ConversationsMembersResponse', slack.conversations.members({ channel: waf })],
    ['UsersInfoResponse', slack.users.info({ user: ann })],
    ['UsersListResponse', slack.users.list()],
    ['UsergroupsListResponse', slack.usergroups.list({ include_users: true })],
    ['UsergroupsUsersListResponse', slack.usergroups.users.list({ usergroup: 'S0WAFRESP' })],
    ['ViewsPublishResponse', slack.views.publish({ user_id: ann, view: { type: 'home', blocks: [row] } })],
    ['ChatDeleteResponse', slack.chat.delete({ channel: waf, ts: reply.ts })],
  ].reduce(async (before, [type, answer]) => [...(await before), { type: `web.${type}`, value: await answer }], []);
}

// payloads has people do things, and returns each payload with its type.
async function payloads(world, received) {
  const slack = clientOf(world);
  const values = [];
  const arrives = async (type, is) => {
    const value = await until(type, () => received.find(is));
    received.splice(received.indexOf(value), 1);
    values.push({ type, value });
    return value;
  };
  const event = (type, of) => (body) => body.type === 'event_callback' && body.event.type === type && (!of || of(body.event));
  const opened = async () => {
    await world.command('ann', '#waf', 'form');
    const { trigger_id } = await arrives('bolt.SlashCommand', (body) => body.command);
    return slack.views.open({ trigger_id, view: modal });
  };

  values.push({ type: 'web.ViewsOpenResponse', value: await opened() });
  await world.post('/sandbox/slack/click', { user: 'ann', view: 'modal', button: 'Go' });
  const click = await arrives('ViewClick', (body) => body.type === 'block_actions');
  values.push({ type: 'web.ViewsPushResponse', value: await slack.views.push({ trigger_id: click.trigger_id, view: modal }) });
  values.push({ type: 'web.ViewsUpdateResponse', value: await slack.views.update({ view_id: (await world.modal('ann')).id, view: modal }) });
  await world.submit('ann', { reason: 'x' });
  await arrives('bolt.ViewSubmitAction', (body) => body.type === 'view_submission');
  await world.post('/sandbox/slack/close', { user: 'ann' });
  await arrives('bolt.ViewClosedAction', (body) => body.type === 'view_closed');

  const { channel, ts } = await slack.chat.postMessage({ channel: ann, text: 'x', blocks: [menu, row] });
  await arrives('events<Message>', event('message', (e) => e.bot_id));
  for (const [label, type] of [['One', 'OverflowAction'], ['Go', 'ButtonAction']]) {
    await world.click('ann', channel, ts, label);
    await arrives(`bolt.BlockAction<bolt.${type}>`, (body) => body.type === 'block_actions');
  }
  await world.say('ann', '#waf', '@wafbot hello & more');
  const mention = await arrives('events<bolt.types.AppMentionEvent>', event('app_mention'));
  values.push({ type: 'bolt.types.RichTextBlock', value: mention.event.blocks[0] });
  const said = await world.say('ann', '@wafbot', 'befor');
  await arrives('events<Message>', event('message'));
  await world.post('/sandbox/slack/edit', { user: 'ann', channel: said.channel, ts: said.ts, text: 'before' });
  await arrives('events<Changed>', event('message', (e) => e.subtype === 'message_changed'));
  await world.post('/sandbox/slack/delete', { user: 'ann', channel: said.channel, ts: said.ts });
  await arrives('events<Deleted>', event('message', (e) => e.subtype === 'message_deleted'));
  await world.post('/sandbox/slack/home/open', { user: 'ann' });
  await arrives('events<bolt.types.AppHomeOpenedEvent>', event('app_home_opened'));
  await world.post('/sandbox/slack/group', { group: 'waf-responders', users: ['rob', 'vic'] });
  await arrives('events<bolt.types.SubteamUpdatedEvent>', event('subteam_updated'));
  await arrives('events<bolt.types.SubteamMembersChangedEvent>', event('subteam_members_changed'));
  return values;
}

// compiled lists what the compiler says of each value.
function compiled(values) {
  const file = fileURLToPath(new URL('../typed.ts', import.meta.url)); // it is never written
  const lines = [
    'import type * as web from "@slack/web-api"; import type * as bolt from "@slack/bolt"; import type { EnvelopedEvent } from "@slack/bolt";',
    'type events<E> = Omit<EnvelopedEvent, "event"> & { event: E };',
    // Slack's types have fields that Slack's own examples leave out: the subtype of a message that has none, the response URL of a click in a view,
    // and the place in the messages within message_changed.
    'type Message = Omit<bolt.types.GenericMessageEvent, "subtype">;',
    'type Version = Omit<Message, "channel" | "channel_type" | "event_ts">;',
    'type Changed = Omit<bolt.types.MessageChangedEvent, "message" | "previous_message"> & { message: Version; previous_message: Version };',
    'type Deleted = Omit<bolt.types.MessageDeletedEvent, "previous_message"> & { previous_message: Version };',
    'type ViewClick = Omit<bolt.BlockAction<bolt.ButtonAction>, "response_url">;',
    // Enums are read as their texts.
    'type Loose<T> = T extends string ? (string extends T ? string : `${T}`) : T extends (infer E)[] ? Loose<E>[] : T extends object ? { [K in keyof T]: Loose<T[K]> } : T;',
    // It keeps literal types, and takes fields that the types lack.
    'declare function like<T>(): <V extends Loose<T>>(value: V) => void;',
    ...values.map(({ type, value }) => `like<${type}>()(${JSON.stringify(value)});`),
  ];
  const head = lines.length - values.length;
  // Slack's types don't tell null from what is left out, and Slack's payloads have both.
  const options = { strict: true, strictNullChecks: false, noEmit: true, skipLibCheck: true, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, target: ts.ScriptTarget.ES2022, types: [] };
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists, getSourceFile } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.readFile = (name) => (name === file ? lines.join('\n') : readFile(name));
  host.getSourceFile = (name, ...more) => (name === file ? ts.createSourceFile(name, lines.join('\n'), options.target) : getSourceFile(name, ...more));
  const problems = values.map(() => []);
  for (const found of ts.getPreEmitDiagnostics(ts.createProgram([file], options, host))) {
    const text = ts.flattenDiagnosticMessageText(found.messageText, '\n');
    assert.equal(found.file?.fileName, file, text);
    const line = found.file.getLineAndCharacterOfPosition(found.start).line - head;
    assert.ok(line >= 0, text);
    problems[line].push(text);
  }
  return problems;
}
