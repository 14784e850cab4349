// An emulated world of one's own: `wafbot sandbox` in a process, and its JSON API (docs/sandbox-api.md).
import { spawn } from 'node:child_process';
import assert from 'node:assert/strict';

const patience = 20_000; // ms, for what must come on a busy machine

const running = new Set();
process.on('exit', () => running.forEach((program) => program.kill()));

// start starts a program that ends with this process, also when that breaks off.
export function start(program, args, options) {
  const started = spawn(program, args, options);
  running.add(started);
  return started;
}

// openWorld starts `wafbot sandbox` and resolves when it is ready.
export async function openWorld() {
  const program = start(process.env.WAFBOT, ['sandbox'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const env = await environmentOf(program);
  const world = new World(program, env);
  await world.post('/sandbox/attacks/stop', {});
  return world;
}

// environmentOf reads WAFBOT_X=value lines up to the empty one.
function environmentOf(program) {
  return new Promise((resolve, reject) => {
    let text = '';
    program.on('exit', (code) => reject(new Error(`wafbot sandbox ended with ${code}`)));
    program.stdout.on('data', (part) => {
      text += part;
      if (text.includes('\n\n')) {
        resolve(Object.fromEntries(text.trim().split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])));
      }
    });
  });
}

class World {
  constructor(program, env) {
    this.program = program;
    this.env = env;
    this.slackApiUrl = env.WAFBOT_SLACK_API_URL;
    this.botToken = env.WAFBOT_SLACK_BOT_TOKEN;
    this.appToken = env.WAFBOT_SLACK_APP_TOKEN;
    this.signingSecret = env.WAFBOT_SLACK_SIGNING_SECRET;
    this.root = new URL('/', this.slackApiUrl).origin;
  }

  close() {
    this.program.removeAllListeners('exit');
    this.program.kill();
  }

  async get(path) {
    return answerOf(await fetch(this.root + path), path);
  }

  async post(path, body) {
    return answerOf(await fetch(this.root + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }), path);
  }

  // messages lists what a user sees in a channel.
  async messages(user, channel) {
    return (await this.get(`/sandbox/slack/messages?user=${user}&channel=${encodeURIComponent(channel)}`)).messages;
  }

  // message is the message with that timestamp as a user sees it; undefined: they see none.
  async message(user, channel, ts) {
    return (await this.messages(user, channel)).find((m) => m.ts === ts);
  }

  async modal(user) {
    return (await this.get(`/sandbox/slack/views?user=${user}`)).modal;
  }

  async links() {
    return (await this.get('/sandbox/slack/links')).links;
  }

  async events(type) {
    return (await this.get('/sandbox/slack/events')).events.filter((e) => e.type === type);
  }

  say(user, channel, text, more = {}) {
    return this.post('/sandbox/slack/say', { user, channel, text, ...more });
  }

  click(user, channel, ts, button, more = {}) {
    return this.post('/sandbox/slack/click', { user, channel, ts, button, ...more });
  }

  command(user, channel, text) {
    return this.post('/sandbox/slack/command', { user, channel, text });
  }

  submit(user, values = {}) {
    return this.post('/sandbox/slack/submit', { user, values });
  }

  fault(fault) {
    return this.post('/sandbox/faults/slack', fault);
  }
}

async function answerOf(response, path) {
  const body = await response.json();
  assert.ok(response.ok, `${path}: ${JSON.stringify(body)}`);
  return body;
}

// until resolves with the first truthy value of look.
export async function until(what, look, within = patience) {
  const end = Date.now() + within;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await pause(50);
  }
}

// pause is for what takes real time in Slack, as a trigger that ends after three seconds.
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// refused requires that a call fails with an error of Slack, and returns its answer.
export async function refused(error, call) {
  try {
    await call;
  } catch (thrown) {
    assert.equal(thrown.data?.error ?? thrown.code ?? String(thrown), error);
    return thrown.data;
  }
  assert.fail(`taken, instead of ${error}`);
}

// inbox keeps what a handler got, until a case asks for it.
export function inbox() {
  const kept = [];
  return {
    put: (thing) => void kept.push(thing),
    next: (what) => until(what, () => kept.shift()),
    get size() {
      return kept.length;
    },
  };
}

export const section = (text, more = {}) => ({ type: 'section', text: { type: 'mrkdwn', text }, ...more });
export const plain = (text) => ({ type: 'plain_text', text });
export const button = (text, more = {}) => ({ type: 'button', text: plain(text), ...more });
export const silent = { debug() {}, info() {}, warn() {}, error() {}, setLevel() {}, getLevel: () => 'error', setName() {} };
