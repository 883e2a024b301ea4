import type { Alert } from '../../../src/domain/alert/alert.ts';
import type { Event } from '../../../src/domain/alert/event.ts';
import type { Group, GroupMember } from '../../../src/domain/grouping/group.ts';
import type { Notification } from '../../../src/domain/grouping/notification.ts';
import type { Silence } from '../../../src/domain/muting/silence.ts';
import type { Suppression } from '../../../src/domain/muting/suppression.ts';
import type { FlightRecord } from '../../../src/store/event-store.ts';
import type { Delivery, Settlement } from '../../../src/store/outbox-store.ts';
import type { Renewal } from '../../../src/store/ownership-store.ts';
import type { BirdRecord, NestRecord } from '../../../src/store/sql/watched/nests-and-birds.ts';
import type { Transaction } from '../../../src/store/store.ts';
import { formatInstant } from '../../../src/time/instant.ts';
import { TEST_START_US } from '../../virtual-clock.ts';

export const NOW_US = TEST_START_US;
export const SECOND_US = 1_000_000;

/** Texts that a store might easily corrupt. */
export const HOSTILE_TEXTS = [
  '',
  ' leading and trailing ',
  '"quoted',
  '\u0000nul\u0000',
  'half of a pair \ud83d',
  '\udc00',
  '\ufffd',
  'Zürich 東京 😀 e\u0301 \u202e',
  "'; DROP TABLE event; --",
  'a\nb\r\tc\u2028',
  '%_*?[a]',
] as const;

export function event(id: string, changes: Partial<Event> = {}): Event {
  const { region = 'eu', feed = 'notification', occurredAtUs = NOW_US } = changes;
  return {
    key: `${region}/${feed}/${id}`,
    region,
    feed,
    type: 'notification.FlowDeactivated',
    occurredAt: formatInstant(occurredAtUs),
    occurredAtUs,
    observedAtUs: occurredAtUs + 2 * SECOND_US,
    nestId: '682',
    nest: 'Marketing',
    birdId: '148890',
    bird: 'Translate blog',
    message: 'The event has failed 5 times in a row',
    attributes: { entity_id: '148890', retrying: false, attempt: 3 },
    ...changes,
  };
}

/** Stores events in the stream of their region and feed, and of this Bird. */
export async function insert(tx: Transaction, events: readonly Event[], birdId = ''): Promise<number> {
  const { region, feed } = events[0]!;
  const { stream } = await tx.streams.open(region, feed, birdId);
  await tx.events.insert(stream, events);
  return stream;
}

/** Links that give an alert these events, as its first ones. */
export function links(
  alertId: string,
  events: readonly Event[],
): { alertId: string; seq: number; event: Event }[] {
  return events.map((one, index) => ({ alertId, seq: index + 1, event: one }));
}

/** The pages of a list, each of which says where the next one begins. */
export async function everyPage<P extends { readonly next?: string }>(
  read: (cursor: string | undefined) => Promise<P>,
): Promise<P[]> {
  const pages: P[] = [];
  do pages.push(await read(pages.at(-1)?.next));
  while (pages.at(-1)!.next !== undefined);
  return pages;
}

export function nest(nestId: string, name = nestId, region = 'eu'): NestRecord {
  return { region, nestId, name, present: true };
}

export function bird(birdId: string, changes: Partial<BirdRecord> = {}): BirdRecord {
  return {
    region: 'eu',
    birdId,
    nestId: '682',
    name: `Bird ${birdId}`,
    status: 'active',
    triggerType: 'scheduled',
    present: true,
    statusSinceUs: NOW_US,
    ...changes,
  };
}

export function flight(flightId: string, changes: Partial<FlightRecord> = {}): FlightRecord {
  return { stream: 1, flightId, startedAtUs: NOW_US, status: 'active', open: true, ends: 0, ...changes };
}

export function alert(id: string, changes: Partial<Alert> = {}): Alert {
  return {
    id,
    scope: 'eu/bird/148890',
    rule: 'r1',
    subject: 's',
    firstRule: 'r1',
    alertname: 'FlightFailed',
    state: 'firing',
    labels: { alertname: 'FlightFailed', severity: 'warning', region: 'eu', bird: 'Translate blog' },
    annotations: { summary: 'A Flight failed' },
    startsAtUs: NOW_US,
    endsAtUs: 0,
    updatedAtUs: NOW_US,
    eventsTotal: 1,
    lastSeq: 1,
    memory: { failures: [NOW_US], note: null },
    dueAtUs: null,
    ...changes,
  };
}

export function group(key: string, changes: Partial<Group> = {}): Group {
  return {
    sort: 'route',
    key,
    route: '0',
    receiver: 'ops',
    labels: { alertname: 'FlightFailed' },
    nextFlushAtUs: NOW_US,
    notifiedAtUs: 0,
    thread: 'thread-1',
    notifications: 0,
    ...changes,
  };
}

export function notification(id: string, receiver = 'ops'): Notification {
  return { kind: 'forward', id, receiver, createdAtUs: NOW_US, events: [event(`of ${id}`)] };
}

export function member(groupKey: string, alertId: string, changes: Partial<GroupMember> = {}): GroupMember {
  return { groupKey, sort: 'route', alertId, notifiedSeq: 0, notifiedState: 'none', ...changes };
}

export function groupNotification(id: string, events: readonly Event[] = []): Notification {
  return {
    kind: 'group',
    id,
    receiver: 'ops',
    createdAtUs: NOW_US,
    reason: 'first',
    groupKey: '{}:{}',
    groupSort: 'route',
    groupLabels: {},
    status: 'firing',
    alerts: [
      {
        id: 'a',
        status: 'firing',
        labels: {},
        annotations: {},
        startsAtUs: NOW_US,
        endsAtUs: 0,
        fingerprint: '',
        events,
        eventsTotal: events.length,
        eventsOmitted: 0,
      },
    ],
    truncatedAlerts: 0,
    firingTotal: 1,
    resolvedTotal: 0,
    thread: 't',
    threadPosition: 0,
  };
}

export function silence(id: string, changes: Partial<Silence> = {}): Silence {
  return {
    id,
    matchers: [],
    startsAtUs: NOW_US,
    endsAtUs: NOW_US + 3_600 * SECOND_US,
    updatedAtUs: NOW_US,
    createdBy: 'Anna',
    comment: '',
    recurrence: null,
    alertId: null,
    alertStartsAtUs: null,
    ...changes,
  };
}

export function suppression(alertId: string, changes: Partial<Suppression> = {}): Suppression {
  return {
    alertId,
    afterSeq: 0,
    lastSeq: 1,
    groupKey: 'g',
    receiver: 'ops',
    reason: 'silenced',
    detail: '',
    atUs: NOW_US,
    ...changes,
  };
}

export function delivery(id: string, changes: Partial<Delivery> = {}): Delivery {
  return {
    id,
    notificationId: `notification of ${id}`,
    receiver: 'ops',
    integration: 'webhook',
    position: 0,
    lane: '',
    state: 'pending',
    attempts: 0,
    createdAtUs: NOW_US,
    nextAttemptAtUs: NOW_US,
    settledAtUs: 0,
    lastError: '',
    ...changes,
  };
}

/** How an attempt ended; at once due again, if at all. */
export function settlement(
  id: string,
  state: Settlement['state'],
  changes: Partial<Settlement> = {},
): Settlement {
  return { id, state, nextAttemptAtUs: NOW_US, lastError: state, ...changes };
}

/**
 * Deliveries that were given up: of `ops` one a microsecond after `NOW_US` and one three after, of `lake` one one
 * after.
 */
export async function giveUpThree(tx: Transaction): Promise<void> {
  await tx.outbox.enqueue(notification('n'), [
    delivery('x'),
    delivery('y', { position: 1 }),
    delivery('z', { receiver: 'lake' }),
  ]);
  await tx.outbox.settle([settlement('x', 'dead'), settlement('z', 'dead')], NOW_US + 1);
  await tx.outbox.settle([settlement('y', 'dead')], NOW_US + 3);
}

/** A replica renews its lease for a minute, and all is well with it. */
export const RENEWAL: Renewal = {
  forMs: 60_000,
  isLeaving: false,
  clockAheadUs: 0,
  refused: undefined,
  config: { digest: '', sinceUs: 0 },
  turnMs: 0,
};
