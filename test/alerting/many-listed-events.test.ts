import { expect, test } from 'vitest';
import { flushGroups } from '../../src/alerting/flush-groups.ts';
import { joinGroups } from '../../src/alerting/join-groups.ts';
import { PART_EVENTS } from '../../src/domain/grouping/flush.ts';
import type { GroupNotification } from '../../src/domain/grouping/notification.ts';
import { createRecurrences } from '../../src/domain/muting/silence.ts';
import { email, webhook } from '../channels/sample-notifications.ts';
import { changed } from '../store/changed-transaction.ts';
import { openMemory } from '../store/test-store.ts';
import { anAlert, anAlertingConfig, anEvent, NOW_US } from '../web/sample.ts';

const ALERTS = 100;
/** Per alert: one more than a message lists. */
const EVENTS = 21;

test('no message lists more events than fit, whoever gets it [long]', async () => {
  const { route, ...others } = anAlertingConfig();
  const config = {
    ...others,
    receivers: [{ name: 'ops', integrations: [webhook(), email()] }],
    route: { ...route, groupWaitMs: 0, groupBy: ['alertname'], routes: [] },
    regions: [],
  };
  const store = await openMemory();
  const queued = new Map<string, GroupNotification[]>();
  await store.transaction(async (tx) => {
    for (let at = 0; at < ALERTS; at += 1) {
      const labels = { alertname: 'FlightFailed', severity: 'critical', region: 'eu', bird: `Bird ${at}` };
      const alert = anAlert({ id: `a${at}`, labels, eventsTotal: EVENTS, lastSeq: EVENTS });
      const events = Array.from({ length: EVENTS }, (_, seq) => anEvent({ id: `${at}-${seq}/failed` }));
      const { stream } = await tx.streams.open('eu', 'flight', String(at));
      await tx.events.insert(stream, events);
      await tx.alerts.put([alert]);
      await tx.alerts.linkEvents(
        events.map((event, index) => ({ alertId: alert.id, seq: index + 1, event })),
      );
    }
    await joinGroups(tx, config, () => 1e12, new Map(), NOW_US);
    const noting = changed(tx, {
      outbox: {
        enqueue(notification, deliveries, ...rest) {
          if (notification.kind === 'group') {
            for (const { integration } of deliveries) {
              queued.set(integration, [...(queued.get(integration) ?? []), notification]);
            }
          }
          return tx.outbox.enqueue(notification, deliveries, ...rest);
        },
      },
    });
    const which = { everyGroup: true, growth: new Map() };
    await flushGroups(noting, config, createRecurrences(), which, NOW_US);
  });
  const listed = (kind: string) =>
    (queued.get(kind) ?? []).map(({ alerts }) => alerts.reduce((sum, one) => sum + one.events.length, 0));
  const alerts = (kind: string) => (queued.get(kind) ?? []).flatMap((one) => one.alerts);

  // Programs get all alerts, in parts, each with its newest events.
  expect(listed('webhook')).toEqual(Array(4).fill(PART_EVENTS));
  expect(new Set(alerts('webhook').map(({ id }) => id)).size).toBe(ALERTS);
  // People get one message about all alerts, with fewer events of each.
  expect(listed('email')).toEqual([PART_EVENTS]);
  expect(alerts('email')).toHaveLength(ALERTS);
  for (const kind of ['webhook', 'email']) {
    expect(alerts(kind).every(({ events, eventsOmitted }) => events.length + eventsOmitted === EVENTS)).toBe(
      true,
    );
  }
});
