import { expect, test } from 'vitest';
import { flushGroups } from '../../src/alerting/flush-groups.ts';
import { joinGroups } from '../../src/alerting/join-groups.ts';
import { createRecurrences } from '../../src/domain/muting/silence.ts';
import type { NestMembers } from '../../src/store/sql/watched/nests-and-birds.ts';
import { email } from '../channels/sample-notifications.ts';
import { changed, countInARow } from '../store/changed-transaction.ts';
import { openMemory } from '../store/test-store.ts';
import { anAlert, anAlertingConfig, NOW_US } from '../web/sample.ts';

const NESTS = 100;
/** The most mails queued between two turns of the event loop. */
const MOST_QUEUED = 20;

test('mails to the members of many Nests are queued in turns, and members are read once [long]', async () => {
  const { route, ...others } = anAlertingConfig();
  const config = {
    ...others,
    receivers: [{ name: 'ops', integrations: [email({ to: [], toNestMembers: true })] }],
    route: { ...route, groupWaitMs: 0, groupBy: ['alertname'], routes: [] },
    regions: [{ name: 'eu' }],
  };
  const members = Array.from({ length: NESTS }, (_, at): NestMembers => {
    return { region: 'eu', nestId: String(at), addresses: [`member.of.${at}@example.com`] };
  });
  const store = await openMemory();
  const { count, pause, done } = countInARow();
  let read = 0;
  const to: (readonly string[] | undefined)[] = [];
  await store.transaction(async (tx) => {
    await tx.inventory.putNestMembers(members);
    await tx.alerts.put(
      members.map(({ nestId }) => {
        const labels = { alertname: 'FlightFailed', severity: 'critical', region: 'eu', nest_id: nestId };
        const changes = { id: `a${nestId}`, scope: `eu/bird/${nestId}`, labels };
        return anAlert({ ...changes, eventsTotal: 1, lastSeq: 1 });
      }),
    );
    await joinGroups(tx, config, () => 1e12, new Map(), NOW_US);
    const counting = {
      ...changed(tx, {
        inventory: {
          nestMembers(region) {
            read += 1;
            return tx.inventory.nestMembers(region);
          },
        },
        outbox: {
          enqueue(notification, ...rest) {
            count();
            to.push(notification.kind === 'group' ? notification.to : undefined);
            return tx.outbox.enqueue(notification, ...rest);
          },
        },
      }),
      pause,
    };
    const which = { everyGroup: true, growth: new Map() };
    await flushGroups(counting, config, createRecurrences(), which, NOW_US);
  });
  expect(to.toSorted()).toEqual(members.map(({ addresses }) => addresses).toSorted());
  expect(read).toBe(1);
  expect(done.most).toBeLessThanOrEqual(MOST_QUEUED);
});
