/**
 * Known-bad daemons: mistakes that pollers and senders are known to make, each by replacing one part of what the
 * daemon is given. The simulation has to find every one; a variant that it does not find shows what it cannot see.
 */
import type { Event } from '../../../src/alerts/event.ts';
import type { DaemonParts } from '../../../src/daemon.ts';
import { formatInstant, parseInstant } from '../../../src/instant.ts';
import { ANCHOR_MARGIN_US, nextPosition, type Position, startOf } from '../../../src/intake/sweep.ts';
import type { Transaction } from '../../../src/store/store.ts';
import type { HttpResponse } from '../../../src/transport.ts';
import type { Fault } from '../checker.ts';
import type { Variation } from '../run.ts';
import { type PagingRule, pagedBy } from './naive-pager.ts';
import { withOutcome, withRegion, withStore, withTransaction } from './wrap.ts';

export interface Variant {
  readonly name: string;
  /** What is wrong with it. */
  readonly mistake: string;
  /** What it has to be found by. */
  readonly by: Fault;
  readonly vary: Variation;
}

function paging(name: string, mistake: string, rule: PagingRule): Variant {
  return { name, mistake, by: 'lost', vary: (parts) => pagedBy(parts, rule) };
}

const counted = (position: Position): Position => ({ ...position, page: position.page + 1 });

const PAGING: readonly Variant[] = [
  paging('short_page_ends', 'A page with fewer entries than were asked for is the last one.', (at, page) =>
    page.count < page.asked ? 'end' : counted(at),
  ),
  paging('offset_paging', 'Pages are counted up from where the sweep began.', (at, page) =>
    at.page * page.pageSize + page.count >= (page.totalCount ?? 0) ? 'end' : counted(at),
  ),
  paging('count_is_believed', 'As many entries as `totalCount` says are all that there are.', (at, page) => {
    if (page.count === 0 || at.page * page.pageSize + page.count >= (page.totalCount ?? 0)) return 'end';
    return nextPosition(at, page);
  }),
  paging('no_margin', 'The next page begins after the newest entry of this one.', (at, page) => {
    const newestUs = page.instantsUs.at(-1);
    if (page.count < page.pageSize || newestUs === undefined) return 'end';
    return newestUs > at.fromUs ? startOf(newestUs) : 'end';
  }),
  paging(
    'dense_instant_skipped',
    'Where one instant fills a page, the sweep goes on behind it.',
    (at, page) => {
      const next = nextPosition(at, page);
      if (next === 'end' || next.page === 0) return next;
      return startOf(Math.max(at.fromUs, page.instantsUs.at(-1) ?? 0) + 1_000_000);
    },
  ),
];

/** Reads a stream's logs from an instant of one's own choice. */
function fromBy(parts: DaemonParts, choose: (fromUs: number, path: string) => number): DaemonParts {
  return withRegion(parts, (send) => (request) => {
    const url = new URL(request.url);
    const fromUs = parseInstant(url.searchParams.get('from') ?? '')?.us;
    if (fromUs === undefined || url.searchParams.has('to')) return send(request);
    url.searchParams.set('from', formatInstant(choose(fromUs, url.pathname)));
    return send({ ...request, url: url.href });
  });
}

const CURSORS: readonly Variant[] = [
  {
    name: 'local_clock_cursor',
    mistake: 'A sweep begins at the local time of the one before, less the overlap.',
    by: 'lost',
    vary(parts) {
      const polledUs = new Map<string, number>();
      return fromBy(parts, (fromUs, path) => {
        const sinceUs = polledUs.get(path);
        polledUs.set(path, parts.clock.nowUs());
        return sinceUs === undefined ? fromUs : sinceUs - parts.config.poll.overlapMs * 1000;
      });
    },
  },
  {
    name: 'no_overlap',
    mistake: 'A sweep begins right at the cursor: nothing comes late.',
    by: 'lost',
    vary: (parts) =>
      fromBy(parts, (fromUs) => fromUs + Math.max(0, parts.config.poll.overlapMs * 1000 - ANCHOR_MARGIN_US)),
  },
  {
    name: 'future_moves_cursor',
    mistake: 'The cursor follows an instant that is still to come.',
    by: 'lost',
    vary: (parts) =>
      withAnswer(parts, (response) => withHeader(response, 'date', 'Fri, 01 Jan 2100 00:00:00 GMT')),
  },
  {
    name: 'cursor_before_commit',
    mistake: 'The cursor is saved first, and what it stands for after it.',
    by: 'lost',
    vary: (parts) =>
      withStore(parts, (store) => ({
        async transaction(work) {
          const moves: (readonly [stream: number, cursorUs: number])[] = [];
          await dryRun(store.transaction, work, (tx) => ({
            ...tx,
            advanceCursor: async (...move) => void moves.push(move),
          }));
          if (moves.length > 0) {
            await store.transaction(async (tx) => {
              for (const [stream, cursorUs] of moves) await tx.advanceCursor(stream, cursorUs);
            });
          }
          return store.transaction(work);
        },
      })),
  },
  {
    name: 'malformed_blocks',
    mistake: 'A page with an entry that cannot be read is no page.',
    by: 'lost',
    vary: (parts) =>
      withAnswer(parts, (response) =>
        /"items":/.test(response.body) && !pageIsPlain(response.body)
          ? { ...response, status: 500 }
          : response,
      ),
  },
];

function pageIsPlain(body: string): boolean {
  try {
    const { items } = JSON.parse(body) as { items: (Record<string, unknown> | null)[] | null };
    return (items ?? []).every((item) => {
      const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
      return (
        typeof item === 'object' && isText(item?.id) && isText(item.createdAt) && parseInstant(item.createdAt)
      );
    });
  } catch {
    return true;
  }
}

function withAnswer(parts: DaemonParts, change: (response: HttpResponse) => HttpResponse): DaemonParts {
  return withRegion(parts, (send) => async (request) => change(await send(request)));
}

function withHeader(response: HttpResponse, name: string, value: string | undefined): HttpResponse {
  const { [name]: _, ...headers } = response.headers;
  return { ...response, headers: value === undefined ? headers : { ...headers, [name]: value } };
}

/** Runs work in a transaction that is taken back. */
async function dryRun<T>(
  transaction: <R>(work: (tx: Transaction) => Promise<R>) => Promise<R>,
  work: (tx: Transaction) => Promise<T>,
  change: (tx: Transaction) => Transaction,
): Promise<void> {
  const enough = new Error('a dry run is taken back');
  try {
    await transaction(async (tx) => {
      await work(change(tx));
      throw enough;
    });
  } catch (error) {
    if (error !== enough) throw error;
  }
}

/** Keeps only some of the events that are to be inserted. */
function keeping(name: string, mistake: string, open: () => (event: Event) => boolean): Variant {
  return {
    name,
    mistake,
    by: 'lost',
    vary(parts) {
      const keep = open();
      return withTransaction(parts, (tx) => ({
        insertEvents: (stream, events) => tx.insertEvents(stream, events.filter(keep)),
      }));
    },
  };
}

const EVENTS: readonly Variant[] = [
  {
    name: 'no_dedupe',
    mistake: 'What was read again is new again.',
    by: 'repeated',
    vary: (parts) =>
      withTransaction(parts, (tx) => ({
        async insertEvents(stream, events) {
          await tx.insertEvents(stream, events);
          return [...events];
        },
        eventIds: async () => [],
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
          await dryRun(store.transaction, work, (tx) => ({
            ...tx,
            async insertEvents(stream, events) {
              inserts.push([stream, events]);
              return tx.insertEvents(stream, events);
            },
          }));
          const fresh: Event[][] = [];
          if (inserts.length > 0) {
            await store.transaction(async (tx) => {
              for (const [stream, events] of inserts) fresh.push(await tx.insertEvents(stream, events));
            });
          }
          return store.transaction((tx) => work({ ...tx, insertEvents: async () => fresh.shift() ?? [] }));
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
    name: 'no_audit',
    mistake: 'What sweeps do not find is not there.',
    by: 'lost',
    vary: (parts) => ({
      ...parts,
      config: { ...parts.config, poll: { ...parts.config.poll, auditIntervalMs: 1e12 } },
    }),
  },
  {
    name: 'watch_begins_anew',
    mistake: 'What happened while no daemon lived is history.',
    by: 'unexplained',
    vary: (parts) => withTransaction(parts, () => ({ regionSince: async (_region, nowUs) => nowUs })),
  },
];

const MANNERS: readonly Variant[] = [
  {
    name: 'retry_after_ignored',
    mistake: 'A region is asked again before the time that it named.',
    by: 'unexplained',
    vary: (parts) => withAnswer(parts, (response) => withHeader(response, 'retry-after', undefined)),
  },
  {
    name: 'receivers_retry_after_ignored',
    mistake: 'A receiver is told again before the time that it named.',
    by: 'unexplained',
    vary: (parts) =>
      withOutcome(parts, (outcome) => {
        if (outcome.kind !== 'failed') return outcome;
        const { retryAfterMs: _, ...rest } = outcome;
        return rest;
      }),
  },
  {
    name: 'not_found_is_an_outage',
    mistake: 'A Bird that is gone is a region that fails.',
    by: 'unexplained',
    vary: (parts) =>
      withAnswer(parts, (response) => (response.status === 404 ? { ...response, status: 500 } : response)),
  },
];

const DELIVERY: readonly Variant[] = [
  {
    name: 'settled_before_sending',
    mistake: 'A delivery is done when it is claimed.',
    by: 'lost',
    vary: (parts) =>
      withTransaction(parts, (tx) => ({
        async claim(receiver, position, nowUs, limit) {
          const claimed = await tx.claim(receiver, position, nowUs, limit);
          const ids = claimed.map(({ delivery }) => delivery.id);
          const done = { state: 'delivered', nextAttemptAtUs: nowUs, lastError: '' } as const;
          await tx.settle(
            ids.map((id) => ({ id, ...done })),
            nowUs,
          );
          return claimed;
        },
        async settle() {},
      })),
  },
  {
    name: 'lease_ignored',
    mistake: 'What is under way is claimed again.',
    by: 'repeated',
    vary: (parts) =>
      withTransaction(parts, (tx) => ({
        async claim(receiver, position, nowUs, limit) {
          const claimed = await tx.claim(receiver, position, nowUs, limit);
          const free = { state: 'retry', nextAttemptAtUs: nowUs, lastError: '' } as const;
          await tx.settle(
            claimed.map(({ delivery }) => ({ id: delivery.id, ...free })),
            nowUs,
          );
          return claimed;
        },
      })),
  },
  {
    name: 'leases_not_recovered',
    mistake: 'What another life of the process was sending stays with it.',
    by: 'unexplained',
    vary: (parts) => withTransaction(parts, () => ({ recoverLeases: async () => 0 })),
  },
  {
    name: 'new_id_for_each_try',
    mistake: 'A repeated message has an id of its own.',
    by: 'repeated',
    vary(parts) {
      const { webhook, email } = parts.channels;
      const renamed = <D extends { readonly id: string; readonly attempts: number }>(delivery: D): D => ({
        ...delivery,
        id: `${delivery.id}-try-${delivery.attempts}`,
      });
      return {
        ...parts,
        channels: {
          webhook: {
            ...webhook,
            send: (to, delivery, ...rest) => webhook.send(to, renamed(delivery), ...rest),
          },
          email: { ...email, send: (to, delivery, ...rest) => email.send(to, renamed(delivery), ...rest) },
        },
      };
    },
  },
  {
    name: 'no_answer_is_yes',
    mistake: 'What may have been accepted was accepted.',
    by: 'lost',
    vary: (parts) =>
      withOutcome(parts, (outcome) => (outcome.kind === 'unknown' ? { kind: 'accepted' } : outcome)),
  },
  {
    name: 'one_try',
    mistake: 'What was not accepted is given up.',
    by: 'lost',
    vary: (parts) =>
      withOutcome(parts, (outcome) =>
        outcome.kind === 'accepted' ? outcome : { kind: 'nothing', why: 'it was not accepted' },
      ),
  },
  {
    name: 'forward_taken_first',
    mistake: 'Events leave the line before they are in a message.',
    by: 'lost',
    vary: (parts) =>
      withStore(parts, (store) => ({
        async transaction(work) {
          const queued: Parameters<Transaction['enqueue']>[] = [];
          const value = await store.transaction((tx) =>
            work({
              ...tx,
              async enqueue(notification, deliveries) {
                if (notification.kind === 'forward') queued.push([notification, deliveries]);
                else await tx.enqueue(notification, deliveries);
              },
            }),
          );
          if (queued.length > 0) {
            await store.transaction(async (tx) => {
              for (const [notification, deliveries] of queued) await tx.enqueue(notification, deliveries);
            });
          }
          return value;
        },
      })),
  },
  {
    name: 'told_is_forgotten',
    mistake: 'A group does not keep what it has told.',
    by: 'repeated',
    vary: (parts) =>
      withTransaction(parts, (tx) => ({
        putGroupMembers: (members) => tx.putGroupMembers(members.map((one) => ({ ...one, toldSeq: 0 }))),
      })),
  },
];

export const VARIANTS: readonly Variant[] = [...PAGING, ...CURSORS, ...EVENTS, ...MANNERS, ...DELIVERY];
