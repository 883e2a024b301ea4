/** An alert that only a person can know to be over, as people see it. */
import { expect, test } from 'vitest';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import { createAlertResolver } from '../../src/operator/act-on-alerts.ts';
import { rule } from '../domain/world.ts';
import { createStage, type Stage } from './stage.ts';
import { stageConfig } from './stage-config.ts';

let stage: Stage;

const received = () =>
  stage.alerts().map(({ labels, status, events }) => `${labels.alertname} ${status} +${events.length}`);

/** As the page or the command does it. The daemon notices at its next look. */
function desk() {
  return createAlertResolver({
    store: stage.store,
    rules: stageConfig(['eu']).rules,
    clock: stage.clock,
    report: (one) => void stage.happenings.push(one),
    probe: (region) => stage.daemon().probe(region),
    changed: () => {},
  });
}

async function resolves(comment: string): Promise<void> {
  const alerts = await stage.store.transaction((tx) => tx.alerts.firing(undefined, 10));
  for (const { id } of alerts.filter(({ alertname }) => alertname === 'ConnectionDisconnected')) {
    expect((await desk().resolve(id, { createdBy: 'ann', comment })).ok).toBe(true);
  }
}

test('a token that was fixed in the gateway is tried at once when somebody asks for it [long]', async () => {
  stage = await createStage({ regions: ['eu'], nests: { P: ['Publish'] } });
  await stage.minutesPass(2);
  stage.eu.refuseToken();
  await stage.minutesPass(10);
  expect(received()).toEqual(['RegionUnauthorized firing +0']);
  stage.eu.acceptToken();
  const [alert] = await stage.store.transaction((tx) => tx.alerts.firing(undefined, 10));
  const health = () => stage.region().health.health;
  expect(health()).toBe('unauthorized');
  expect((await desk().resolve(alert!.id, { createdBy: 'ann', comment: '' })).ok).toBe(false);
  await stage.clock.advance(10_000);
  expect(health()).toBe('up');
  await stage.minutesPass(6);
  expect(received()).toEqual(['RegionUnauthorized firing +0', 'RegionUnauthorized resolved +0']);
});

test('a lost connection is resolved when somebody says so, even over a restart, until it is lost again [long]', async () => {
  stage = await createStage({
    regions: ['eu'],
    rules: [rule('ConnectionDisconnected', { resolveAfterMs: 2 * 3_600_000 })],
    poll: { intervalMs: 300_000 },
    inhibitRules: [
      {
        sourceMatchers: parseMatchers('alertname="ConnectionDisconnected"'),
        targetMatchers: parseMatchers('alertname="BirdTriggerFailing"'),
        equal: ['region', 'nest_id'],
      },
    ],
    nests: { Production: ['Publish'] },
  });
  const world = stage.eu;
  const [nestId, birdId] = [stage.nest('Production'), stage.bird('Publish')];
  const lost = { nestId, entityId: '77', entityName: 'Phrase TMS', exhausted: true, wording: 'old' } as const;
  await stage.minutesPass(1);
  world.disconnectConnection(lost);
  await stage.minutesPass(7);
  world.eventError(birdId);
  world.eventError(birdId);
  await stage.minutesPass(10);
  expect(received()).toEqual(['ConnectionDisconnected firing +1']);

  await resolves('reconnected');
  await stage.minutesPass(3);
  // What it inhibited is sent now.
  expect(received().slice(1).toSorted()).toEqual([
    'BirdTriggerFailing firing +2',
    'ConnectionDisconnected resolved +0',
  ]);
  const end = stage.alerts().find(({ status }) => status === 'resolved')!;
  expect(end.annotations.resolved_by).toBe('it was resolved by hand by ann: reconnected');

  const count = received().length;
  const connections = () =>
    received()
      .slice(count)
      .filter((one) => one.startsWith('ConnectionDisconnected'));
  await stage.restart();
  await stage.minutesPass(3 * 60);
  expect(connections()).toEqual([]);
  world.disconnectConnection(lost);
  await stage.minutesPass(8);
  expect(connections()).toEqual(['ConnectionDisconnected firing +1']);
});
