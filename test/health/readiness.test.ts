import { expect, test } from 'vitest';
import { createReadiness } from '../../src/health/readiness.ts';

type Watch = Parameters<typeof createReadiness>[0];
type Region = ReturnType<Watch['regions']>[number];

const region = (name: string, started: boolean, health: Region['health']['health'] = 'up'): Region => ({
  region: name,
  started,
  health: { health, reason: '', sinceUs: 0 },
});
const AWAY = { why: 'away', message: 'the server is away', sinceUs: 0 } as const;

test('readiness, once reached, stays as long as the store answers', () => {
  let regions = [region('eu', false), region('us', false, 'down')];
  let refusal: typeof AWAY | undefined;
  const look = createReadiness({ regions: () => regions, storeRefusal: () => refusal });
  expect(look()).toMatchObject({ ready: false, reasons: ['Region eu has not been read yet.'] });
  regions = [region('eu', true), region('us', false, 'down')];
  expect(look()).toEqual({ healthy: true, working: true, ready: true, reasons: [] });
  // `us` is back and being read, and another region was added by a new configuration.
  regions = [region('eu', true), region('us', false), region('ap', false)];
  expect(look()).toMatchObject({ ready: true, reasons: [] });
  refusal = AWAY;
  expect(look()).toMatchObject({
    ready: false,
    working: false,
    reasons: [expect.stringMatching('does not answer')],
  });
  refusal = undefined;
  expect(look()).toMatchObject({ ready: true, working: true });
});
