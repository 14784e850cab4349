// What Block Kit allows.
import assert from 'node:assert/strict';
import { button, plain, refused, section } from '../../world.mjs';
import { ann, clientOf } from './client.mjs';

// blocks states what Block Kit allows: a message with these blocks is taken, or refused with the place of what is wrong.
export async function blocks(round, world) {
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
