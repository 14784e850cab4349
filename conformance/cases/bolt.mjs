// @slack/bolt, over Socket Mode and over HTTP: what people do reaches its listeners, and what these answer reaches people.
import { createRequire } from 'node:module';
import { openWorld } from '../world.mjs';
import { startApp } from './bolt/app.mjs';
import { clicks, commands, responses } from './bolt/clicks.mjs';
import { events, homes, signatures, unanswered } from './bolt/events.mjs';
import { modals, stacks, submissions } from './bolt/modals.mjs';

const { version } = createRequire(import.meta.url)('@slack/bolt/package.json');

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
