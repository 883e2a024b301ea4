/** Several replicas on one store fly a Bird again: each wish, of a person or a rule, is one request. */
import { expect, test } from 'vitest';
import { askToFly } from '../../src/operator/ask-to-fly.ts';
import { openReplicas } from './open-replicas.ts';

const RULE =
  'actions: [{ name: a, on: FlightFailed, match: [region=us], do: fly_again, per_hour: 5, wait: 1m, dry_run: false }]';

test('a wish that any replica takes, and a failure that a rule acts on, start one Flight each [long]', async () => {
  const { clock, worlds, replicas, store, follow, ownerOf } = await openReplicas(['a', 'b']);
  const us = worlds.get('us')!;
  const [bird] = [...us.birds.values()];
  await clock.advance(5 * 60_000);
  const reader = (await ownerOf('region us'))!;
  const wish = {
    region: 'us',
    birdId: bird!.id,
    failedFlightId: '',
    by: 'Ann',
    isLoggedIn: false,
    comment: '',
  };
  const config = { regions: [{ name: 'us', fly: true as const }] };
  for (const id of ['1', '1', '2']) await askToFly(store, config, { ...wish, id }, clock.nowUs());
  await clock.advance(2 * 60_000);
  expect(us.requests().byOperation.flyBird).toBe(1);

  // The other one takes the region over while a rule's plan is open.
  const changed = Promise.all(['a', 'b'].map((name) => follow(name, RULE)));
  await clock.advance(10_000);
  await changed;
  const { id } = us.startFlight(bird!.id);
  us.endFlight(id, 'failed', { errorMessages: 'The app did not respond' });
  await clock.advance(50_000);
  replicas.get(reader)!.stop.abort();
  await clock.advance(10 * 60_000);
  await replicas.get(reader)!.ended;
  expect(us.requests().byOperation.flyBird).toBe(2);
});
