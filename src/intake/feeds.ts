/**
 * Creates the streams of a region's three feeds with what they share: the page size that the service accepts, where a
 * first reading begins, and each feed's overlap.
 */

import { type Event, FEEDS, type Feed, NEST_EXCLUDED, present } from '../domain/alert/event.ts';
import type { BirdLogEntry, NotificationEntry } from '../service/resources.ts';
import { FlightGaps } from './flights/flight-gaps.ts';
import { createFlightWatches, type FlightWatch } from './flights/flight-watch.ts';
import type { Inventory } from './inventory/inventory.ts';
import { createLateness } from './lateness.ts';
import { createLogStreams, type LogStream } from './logs/log-stream.ts';
import { PageReader } from './logs/page-reader.ts';
import type { IntakeParts, Names } from './parts.ts';

interface FeedsOptions extends IntakeParts {
  readonly inventory: Inventory;
  /** On the service's clock. What happened to the Bird (or, for '', to the region) before it is history. */
  readonly watchedSinceUs: (birdId: string) => number;
  /** For how long open Flights that no list shows are not requested again; absent for no time. */
  readonly openPauseMs?: () => number;
}

export interface Feeds {
  /** Loads what earlier runs have stored: up to when Flights are known, and of which times not all could be read. */
  readonly load: () => Promise<void>;
  readonly createNotifications: () => LogStream;
  readonly createBirdLog: (birdId: string) => LogStream;
  readonly createFlightWatch: (birdId: string) => FlightWatch;
  /** How far behind its cursor a stream of the feed is read again. */
  readonly overlapUs: (feed: Feed) => number;
  /** Where a stream of the Bird (or, for '', of the region) begins if it has no cursor. */
  readonly firstFromUs: (birdId: string) => number;
  /** The page size that the service accepts, as far as known. */
  readonly pageSize: () => number;
}

export function createFeeds(options: FeedsOptions): Feeds {
  const { region, poll, client, inventory, watchedSinceUs } = options;
  const lateness = new Map(FEEDS.map((feed) => [feed, createLateness(poll.overlapMs * 1000, options.clock)]));
  const ofNotifications = new PageReader(poll.pageSize, options.clock);
  const ofBirdLogs = new PageReader(poll.pageSize, options.clock);

  const shared = {
    ...options,
    firstFromUs: (birdId: string) => watchedSinceUs(birdId) - poll.initialLookbackMs * 1000,
    pageSize: () => Math.min(ofNotifications.size(), ofBirdLogs.size()),
  };
  const birdStatus = (event: Event) => (event.birdId ? inventory.status(event.birdId) : undefined);

  const createNotifications = createLogStreams(
    {
      region,
      feed: 'notification',
      read: (_birdId, query) => client.getNotifications(query),
      toEvent(_birdId, entry, observedAtUs) {
        const event = notificationEvent(region, entry, inventory, observedAtUs);
        return inventory.isExcluded(event.nestId) ? ofExcludedNest(event) : event;
      },
      birdStatus,
    },
    { ...shared, ...lateness.get('notification')!, pages: ofNotifications },
  );
  const createBirdLog = createLogStreams(
    {
      region,
      feed: 'bird_log',
      read: (birdId, query) => client.getBirdLogs(inventory.nestOf(birdId), birdId, query),
      toEvent: (birdId, entry, observedAtUs) => birdLogEvent(region, birdId, entry, inventory, observedAtUs),
      birdStatus,
    },
    { ...shared, ...lateness.get('bird_log')!, pages: ofBirdLogs },
  );
  const gaps = new FlightGaps(options);
  const createFlightWatch = createFlightWatches(
    {
      ...shared,
      ...lateness.get('flight')!,
      names: inventory,
      status: (birdId) => inventory.status(birdId),
      reasonWaitUs: reasonWaitMs(poll.intervalMs) * 1000,
    },
    gaps,
  );

  return {
    load: () => gaps.load(),
    createNotifications: () => createNotifications(''),
    createBirdLog,
    createFlightWatch,
    overlapUs: (feed) => lateness.get(feed)!.overlapUs(),
    firstFromUs: shared.firstFromUs,
    pageSize: shared.pageSize,
  };
}

/**
 * How long a failed Flight is held back while its error message is missing: two poll intervals, but 15 s to 60 s.
 * With frequent polls a failure without a message is reported soon.
 */
function reasonWaitMs(intervalMs: number): number {
  return Math.min(60_000, Math.max(15_000, 2 * intervalMs));
}

/**
 * Notifications cover the whole region. One about an excluded Nest raises no alert, and its event is marked with the
 * reason.
 */
function ofExcludedNest(event: Event): Event {
  return { ...event, attributes: { ...event.attributes, [NEST_EXCLUDED]: true } };
}

function notificationEvent(
  region: string,
  entry: NotificationEntry,
  names: Names,
  observedAtUs: number,
): Event {
  // A notification about a Flow is about the Bird with that id.
  const birdId = entry.entityType === 'Flow' ? entry.entityId : '';
  const nestId = entry.nestId || names.nestOf(birdId);
  return {
    ...logged(region, 'notification', entry, observedAtUs),
    nestId,
    nest: names.nest(nestId),
    birdId,
    bird: birdId ? names.bird(birdId) || entry.entityName : '',
    attributes: present({
      entity_type: entry.entityType,
      entity_id: entry.entityId,
      entity_name: entry.entityName,
    }),
  };
}

export function birdLogEvent(
  region: string,
  birdId: string,
  entry: BirdLogEntry,
  names: Names,
  observedAtUs: number,
): Event {
  const nestId = entry.nestId || names.nestOf(birdId);
  return {
    ...logged(region, 'bird_log', entry, observedAtUs),
    nestId,
    nest: names.nest(nestId),
    birdId,
    bird: names.bird(birdId),
    attributes: present({
      event_failed_by: entry.eventFailedBy,
      error_type: entry.errorType,
      initiator: entry.initiator,
    }),
  };
}

function logged(
  region: string,
  feed: 'notification' | 'bird_log',
  { id, eventType, createdAt, message }: NotificationEntry | BirdLogEntry,
  observedAtUs: number,
) {
  const [type, occurredAt, occurredAtUs] = [`${feed}.${eventType}`, createdAt.text, createdAt.us];
  return {
    key: `${region}/${feed}/${id}`,
    region,
    feed,
    type,
    occurredAt,
    occurredAtUs,
    observedAtUs,
    message,
  };
}
