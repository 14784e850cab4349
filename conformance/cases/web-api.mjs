// @slack/web-api: what its client sends is taken as Slack takes it, and what comes back is what the client reads.
import { createRequire } from 'node:module';
import { openWorld } from '../world.mjs';
import { blocks } from './web-api/blocks.mjs';
import { bodies, channels, home, methods, pace, people, tokens } from './web-api/calls.mjs';
import { editing, ephemeral, history, posting, threads } from './web-api/messages.mjs';

const { version } = createRequire(import.meta.url)('@slack/web-api/package.json');

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
