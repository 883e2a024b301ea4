/** Mistakes in what becomes of entries and Flights, and in how this is checked. */
import type { Event } from '../../../src/domain/alert/event.ts';
import { parseInstant } from '../../../src/time/instant.ts';
import { changed } from '../../store/changed-transaction.ts';
import { LAYERS, type Variant } from './variant.ts';
import { dryRun, withRegion, withStore, withTransaction } from './wrap.ts';

/** Stores only some of the events that are to be inserted. */
function keeping(name: string, mistake: string, open: () => (event: Event) => boolean): Variant {
  return {
    name,
    mistake,
    by: 'lost',
    vary(parts) {
      const keep = open();
      return withTransaction(parts, (tx) => ({
        events: {
          insert: (stream, events) => tx.events.insert(stream, events.filter(keep)),
        },
      }));
    },
  };
}

function toMilliseconds(event: Event): Event {
  return { ...event, occurredAt: new Date(event.occurredAtUs / 1000).toISOString() };
}

export const EVENTS: readonly Variant[] = [
  {
    name: 'no_dedupe',
    mistake: 'What was read again is new again.',
    by: 'repeated',
    vary: (parts) =>
      withTransaction(parts, (tx) => ({
        events: {
          async insert(stream, events) {
            await tx.events.insert(stream, events);
            return [...events];
          },
          ids: async () => [],
          knownIds: async () => new Set<string>(),
        },
      })),
  },
  keeping('dedupe_by_content', 'Two entries that say the same are one.', () => {
    const keys = new Map<string, string>();
    return ({ key, type, region, nestId, birdId, message }) => {
      const content = JSON.stringify([type, region, nestId, birdId, message]);
      if (!keys.has(content)) keys.set(content, key);
      return keys.get(content) === key;
    };
  }),
  keeping('dedupe_by_instant', 'Two entries of one millisecond are one.', () => {
    const keys = new Map<string, string>();
    return ({ key, region, feed, birdId, occurredAtUs }) => {
      const instant = [region, feed, birdId, Math.floor(occurredAtUs / 1000)].join(' ');
      if (!keys.has(instant)) keys.set(instant, key);
      return keys.get(instant) === key;
    };
  }),
  keeping(
    'unknown_types_dropped',
    'A type that is not known is nothing.',
    () =>
      ({ type }) =>
        !/FlowArchived/.test(type),
  ),
  {
    name: 'events_apart_from_alerts',
    mistake: 'Events are saved first, and what follows from them after it.',
    by: 'lost',
    vary: (parts) =>
      withStore(parts, (store) => ({
        async transaction(work) {
          const inserts: (readonly [stream: number, events: readonly Event[]])[] = [];
          await dryRun(store.transaction, work, (tx) =>
            changed(tx, {
              events: {
                async insert(stream, events) {
                  inserts.push([stream, events]);
                  return tx.events.insert(stream, events);
                },
              },
            }),
          );
          const fresh: Event[][] = [];
          if (inserts.length > 0) {
            await store.transaction(async (tx) => {
              for (const [stream, events] of inserts) fresh.push(await tx.events.insert(stream, events));
            });
          }
          return store.transaction((tx) =>
            work(changed(tx, { events: { insert: async () => fresh.shift() ?? [] } })),
          );
        },
      })),
  },
  {
    name: 'open_flights_forgotten',
    mistake: 'Flights are looked for by their start alone.',
    by: 'lost',
    vary: (parts) =>
      withRegion(parts, (send) => async (request) => {
        const response = await send(request);
        if (/\/flights\/[^/?]+$/.test(request.url)) return { ...response, status: 404 };
        return request.url.includes('Status=active') ? { ...response, status: 200, body: '[]' } : response;
      }),
  },
  {
    name: 'milliseconds_only',
    mistake: 'Instants are told as dates of the language, which know no microseconds.',
    by: 'invented',
    vary: (parts) =>
      withTransaction(parts, (tx) => ({
        forwards: {
          queue: (queue) =>
            tx.forwards.queue(queue.map((one) => ({ ...one, event: toMilliseconds(one.event) }))),
        },
      })),
  },
  {
    name: 'no_audit',
    mistake: 'What sweeps do not find is not there.',
    by: 'lost',
    vary: LAYERS.audit,
  },
  {
    name: 'audit_without_bisect',
    mistake: 'An audit whose first answer does not settle it gives up.',
    by: 'lost',
    vary: (parts) =>
      withRegion(parts, (send) => {
        const windows = new Map<string, readonly [fromUs: number, toUs: number]>();
        return (request) => {
          const { pathname, searchParams } = new URL(request.url);
          const [fromUs = 0, toUs = 0] = ['from', 'to'].map(
            (name) => parseInstant(searchParams.get(name) ?? '')?.us,
          );
          if (toUs === 0) return send(request);
          const [wholeFromUs, wholeToUs] = windows.get(pathname) ?? [0, 0];
          const isPart = fromUs >= wholeFromUs - 2e6 && toUs <= wholeToUs + 2e6;
          if (isPart) return Promise.resolve({ status: 400, headers: {}, body: '{}' });
          windows.set(pathname, [fromUs, toUs]);
          return send(request);
        };
      }),
  },
  {
    name: 'no_flight_review',
    mistake: 'Flights that polls have passed are never looked at again.',
    by: 'lost',
    vary: LAYERS.review,
  },
  {
    name: 'inventory_begins_anew',
    mistake: 'Who joined a Nest, and which Birds were created, while no daemon lived is taken for known.',
    by: 'lost',
    vary: (parts) => withTransaction(parts, () => ({ inventory: { listed: async () => [] } })),
  },
  {
    name: 'watch_begins_anew',
    mistake: 'What happened while no daemon lived is history.',
    by: 'unexplained',
    vary: (parts) =>
      withTransaction(parts, () => ({
        inventory: {
          regionSince: async (_region, nowUs) => nowUs,
          knownSince: async () => undefined,
          firstStart: async (_region, nowUs) => nowUs,
        },
      })),
  },
];
