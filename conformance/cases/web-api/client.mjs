// The client of all cases, and the cast's channels.
import { WebClient } from '@slack/web-api';
import { silent } from '../../world.mjs';

export const waf = 'C0WAF0001';
export const globex = 'C0WAF0002';
export const legacy = 'C0LEGACY6';
export const random = 'C0RANDOM3';
export const board = 'C0BOARD04'; // private, without the bot
export const archived = 'C0OLD0005';
export const ann = 'U0ANN0001';
export const once = { retries: 0 };

// clientOf is a client of the world. Its own retries stay on unless options say otherwise.
export const clientOf = (world, options = {}, token = world.botToken) =>
  new WebClient(token, { slackApiUrl: world.slackApiUrl, logger: silent, ...options });
