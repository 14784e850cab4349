// Plays all cases of all clients, prints a table, and fails if a case fails that is no row of docs/conformance.md, or if a count there is another one.
// With the words of clients or cases as arguments it plays those alone, and compares no counts.
import { AssertionError } from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import bolt from './cases/bolt.mjs';
import emulate from './cases/emulate.mjs';
import socketMode from './cases/socket-mode.mjs';
import types from './cases/types.mjs';
import webAPI from './cases/web-api.mjs';

const doc = new URL('../docs/conformance.md', import.meta.url);
const longest = 120_000; // ms, of a case
const update = process.argv.includes('-update');
const words = process.argv.slice(2).filter((word) => word !== '-update');

// Round collects the results of one client's cases, which run in their order.
class Round {
  constructor(client, version, rows) {
    Object.assign(this, { client, version, rows, passed: 0, differences: [], failures: [] });
  }

  // run plays a case.
  async run(name, play) {
    if (!this.chosen(name)) return;
    try {
      await bounded(play());
      this.passed++;
    } catch (error) {
      this.fail(name, error);
    }
  }

  // differs plays a case that states what Slack does and fails here, for the reason in the row of that id.
  async differs(row, name, play) {
    if (!this.chosen(name)) return;
    try {
      await bounded(play());
    } catch (error) {
      if (!(error instanceof AssertionError)) return this.fail(name, error);
      if (!this.rows.includes(row)) return this.fail(name, new Error(`no row ${row} in docs/conformance.md: ${error.message}`));
      this.differences.push(row);
      return;
    }
    this.fail(name, new Error(`it is as in Slack now: take the row ${row} out of docs/conformance.md, and make this a case like others`));
  }

  chosen(name) {
    return words.length === 0 || words.some((word) => `${this.client} ${name}`.includes(word));
  }

  fail(name, error) {
    this.failures.push(name);
    console.error(`FAIL ${this.client}: ${name}\n${error.stack}\n`);
  }

  get cases() {
    return this.passed + this.differences.length + this.failures.length;
  }

  get line() {
    return `| ${this.client} | ${this.version} | ${this.cases} | ${this.passed} | ${this.differences.length} |`;
  }
}

function bounded(work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`took longer than ${longest / 1000} seconds`)), longest);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

const text = await readFile(doc, 'utf8');
const rows = [...text.matchAll(/^\| `([a-z-]+)` \|/gm)].map((match) => match[1]);
const rounds = [];
const part = async ({ client, version, play }) => {
  const round = new Round(client, version, rows);
  rounds.push(round);
  try {
    await play(round);
  } catch (error) {
    round.fail('to its end', error);
  }
};
await Promise.all([webAPI, ...bolt, socketMode, emulate].map(part));
await part(types); // the compiler holds up everything else of this process

const table = ['| client | version | cases | passed | differences |', '|---|---|---|---|---|', ...rounds.map((round) => round.line)].join('\n');
console.log(table);
let failed = rounds.some((round) => round.failures.length > 0);
if (words.length === 0) {
  const unseen = rows.filter((row) => !rounds.some((round) => round.differences.includes(row)));
  if (unseen.length > 0) console.error(`no case shows these rows of docs/conformance.md: ${unseen.join(', ')}`);
  const stated = /^\| client \| version .*\n(\|.*\n)*/m;
  if (update) await writeFile(doc, text.replace(stated, `${table}\n`));
  else if (!text.includes(`${table}\n`)) console.error('docs/conformance.md has another table of counts: see what changed, then run scripts/conformance -update');
  failed ||= unseen.length > 0 || (!update && !text.includes(`${table}\n`));
}
process.exit(failed ? 1 : 0);
