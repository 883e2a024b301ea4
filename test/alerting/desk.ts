/**
 * The second of the two test harnesses: alerting and delivery on a store, on a virtual clock, without a service to
 * watch. What happens to Birds is committed as intake would commit it, and people are notified. After every
 * transaction the states in the outbox must add up to everything that was ever queued.
 */

import { expect, onTestFinished } from 'vitest';
import { createAlerting } from '../../src/alerting/alerting.ts';
import type { OpenChannels } from '../../src/channels/channel.ts';
import {
  type PagerdutyIntegration,
  pagerdutyRequest,
} from '../../src/channels/incident/pagerduty-channel.ts';
import type { Receiver } from '../../src/channels/receiver.ts';
import { openWebhooks } from '../../src/channels/webhook/webhook-channel.ts';
import { createDelivery } from '../../src/delivery/outbox.ts';
import type { Event } from '../../src/domain/alert/event.ts';
import type { Rule } from '../../src/domain/alert/rule.ts';
import { FINDING_SORTS } from '../../src/domain/context/findings.ts';
import type { GroupNotification, Notification } from '../../src/domain/grouping/notification.ts';
import { sharedCause } from '../../src/domain/kinds/failures/shared-cause.ts';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import type { InhibitRule, TimeIntervals } from '../../src/domain/muting/muting.ts';
import { createRecurrences } from '../../src/domain/muting/silence.ts';
import type { Route } from '../../src/domain/routing/route.ts';
import { NestwatchError } from '../../src/errors.ts';
import { createCommit } from '../../src/intake/commit.ts';
import { createAlertResolver, createSilenceEditor } from '../../src/operator/act-on-alerts.ts';
import type { Happening } from '../../src/report.ts';
import { secret } from '../../src/secret.ts';
import type { Delivery } from '../../src/store/outbox-store.ts';
import type { Store, Transaction } from '../../src/store/store.ts';
import { formatInstant } from '../../src/time/instant.ts';
import { webhook } from '../channels/sample-notifications.ts';
import { changed } from '../store/changed-transaction.ts';
import { silence } from '../store/contract/sample-records.ts';
import { openMemory, runTwice, type TestStore } from '../store/test-store.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';

export const MINUTE_MS = 60_000;

/** What digests need to know, if only they are configured. */
export const NOTHING_CONFIGURED = {
  ...{ receivers: [], rules: [], timeIntervals: new Map() },
  ...{ poll: { initialLookbackMs: 0 }, store: { retentionMs: 30 * 86_400_000 } },
};

/** How a hook answers: a status, or `lost` if it accepts and its answer is lost. */
export type Answer = number | 'lost';

export interface DeskOptions {
  /** How much earlier than they did Flights seem to have ended. */
  readonly roundedByUs?: number;
  readonly receivers: readonly Receiver[];
  readonly route?: Partial<Route>;
  readonly rules?: readonly Rule[];
  readonly timeIntervals?: TimeIntervals;
  readonly inhibitRules?: readonly InhibitRule[];
  /** How a receiver's hook answers at a minute of the story; 200 by default. */
  readonly answer?: (receiver: string, minute: number, tries: number) => Answer;
  /** Every transaction of alerting and delivery conflicts with another, and is repeated. */
  readonly isContended?: boolean;
  /** Ends the process after this many committed transactions, and starts the next life. */
  readonly dieAfter?: number;
}

/** A message as a receiver got it; `again` if its id came before. */
export interface Received {
  readonly receiver: string;
  readonly minute: number;
  readonly id: string;
  readonly again: boolean;
  readonly body: Body;
}

export interface Body {
  readonly status: string;
  readonly truncatedAlerts: number;
  readonly part?: number;
  readonly parts?: number;
  readonly notices?: readonly string[];
  readonly notification_reason: string;
  readonly groupLabels: Readonly<Record<string, string>>;
  readonly routeLabels: Readonly<Record<string, string>>;
  readonly alerts: readonly {
    readonly status: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    readonly events: readonly { readonly key: string }[];
  }[];
}

export interface Mail {
  readonly delivery: Delivery;
  readonly notification: GroupNotification;
}

/** An event as PagerDuty got it. */
export interface Page {
  readonly receiver: string;
  readonly minute: number;
  readonly event_action: string;
  readonly dedup_key: string;
  readonly payload?: { readonly summary: string };
}

export interface Desk {
  readonly clock: VirtualClock;
  readonly store: TestStore;
  readonly received: Received[];
  readonly mails: Mail[];
  readonly pages: Page[];
  readonly happenings: Happening[];
  /** What happens, one after the other: minutes that pass, and the deeds below, as in `fails A B, 10, succeeds A`. */
  story(steps: string): Promise<void>;
  /** A Bird is written `Bird`, `Nest/Bird`, or `id:Bird` after it was renamed. */
  fails(...birds: string[]): Promise<void>;
  /** Birds fail with this message, `agoMinutes` before it is seen (0 by default). */
  failsWith(message: string, birds: readonly string[], agoMinutes?: number): Promise<void>;
  /** Pages of failures, as fast as they can be committed, while alerting runs. */
  failInPages(pages: Iterable<readonly string[]>): Promise<void>;
  succeeds(...birds: string[]): Promise<void>;
  /** Failures that are seen only now: they happened five hours ago, and a minute later a success. */
  failedLongAgo(...birds: string[]): Promise<void>;
  succeededLongAgo(...birds: string[]): Promise<void>;
  /** As the page, a link in a mail, or a command does it. */
  acknowledges(...birds: string[]): Promise<void>;
  resolves(...birds: string[]): Promise<void>;
  /** Silences a Bird from now on. */
  silences(bird: string, minutes: number): Promise<void>;
  pass(minutes: number): Promise<void>;
  /** Starts the next life, with these changes to the route. */
  restart(route?: Partial<Route>): Promise<void>;
  /** Queues what is to be notified without waiting for the groups, as `run --once` does. */
  hurry(): Promise<void>;
  /** The number of transactions that alerting and delivery have committed. */
  committed(): number;
  states(): Promise<Record<string, number>>;
  /** `receiver@minute status: Bird status +events; …`, without repetitions. */
  lines(receiver?: string): string[];
  /** Done at the end of the test, unless before. */
  close(): Promise<void>;
}

/** A receiver with one hook. */
export function hook(name: string, settings: Partial<Receiver> = {}): Receiver {
  return { name, integrations: [webhook({ url: secret(`http://${name}.example/`) })], ...settings };
}

/** An integration whose pages are in `pages`. */
export function pagerduty(settings: Partial<PagerdutyIntegration> = {}): PagerdutyIntegration {
  return {
    kind: 'pagerduty',
    url: secret('https://events.pagerduty.example/v2/enqueue'),
    routingKey: secret('k'),
    severity: null,
    timeoutMs: 10_000,
    sendResolved: true,
    ...settings,
  };
}

/** A desk that closes when the test that opens it has ended. */
export async function openDesk(options: DeskOptions): Promise<Desk> {
  const clock = createVirtualClock();
  const startUs = clock.nowUs();
  const minute = () => (clock.nowUs() - startUs) / 60_000_000;
  const inner = await openMemory(clock);
  const contended = options.isContended ? runTwice(inner) : inner;
  const received: Received[] = [];
  const mails: Mail[] = [];
  const pages: Page[] = [];
  const happenings: Happening[] = [];
  const tries = new Map<string, number>();
  let route: Route = {
    path: '0',
    key: '{}',
    receiver: 'ops',
    matchers: [],
    continue: false,
    groupBy: ['alertname'],
    groupWaitMs: 30_000,
    groupIntervalMs: 5 * MINUTE_MS,
    repeatIntervalMs: 240 * MINUTE_MS,
    routes: [],
    ...options.route,
  };
  // These stories are about groups and messages of many alerts, each of its own Bird.
  const own = options.rules ?? [];
  const rules = [...own, ...DEFAULT_RULES.filter(({ kind }) => kind !== sharedCause.name)];
  let committed = 0;
  let entries = 0;

  /** Counts what is queued, and compares it with the states at the end of each transaction. */
  async function counted<T>(tx: Transaction, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const sum = async () => (await tx.outbox.count()).reduce((total, { count }) => total + count, 0);
    let queued = await sum();
    const result = await work(
      changed(tx, {
        outbox: {
          enqueue(notification, deliveries, covers) {
            queued += deliveries.length;
            return tx.outbox.enqueue(notification, deliveries, covers);
          },
        },
      }),
    );
    expect(await sum()).toBe(queued);
    return result;
  }

  interface Life {
    readonly stop: AbortController;
    readonly alerting: ReturnType<typeof createAlerting>;
    ended: Promise<unknown>;
    dead: boolean;
  }

  function begin(): Life {
    const stop = new AbortController();
    const store: Store = {
      space: inner.space,
      async transaction(work) {
        if (life.dead) throw new NestwatchError('cancelled', 'this process is dead');
        const result = await contended.transaction((tx) => counted(tx, work));
        committed += 1;
        if (committed === options.dieAfter) {
          life.dead = true;
          stop.abort();
          life = begin();
        }
        return result;
      },
      close: async () => {},
    };
    const report = (happening: Happening) => {
      if (life.stop !== stop) return;
      if (happening.what === 'trouble') throw happening.error;
      happenings.push(happening);
    };
    const channels = {
      webhook: openWebhooks({
        clock,
        version: 'test',
        openTransport: () => ({
          async send({ url, headers, body }) {
            const receiver = new URL(url).hostname.replace('.example', '');
            const count = (tries.get(receiver) ?? 0) + 1;
            tries.set(receiver, count);
            const answer = options.answer?.(receiver, minute(), count) ?? 200;
            if (answer === 'lost' || answer < 300) {
              const id = headers['webhook-id']!;
              const again = received.some((one) => one.receiver === receiver && one.id === id);
              received.push({ receiver, minute: minute(), id, again, body: JSON.parse(body!) as Body });
            }
            if (answer === 'lost') throw new NestwatchError('timeout', 'no answer within 10000 ms');
            return { status: answer, headers: {}, body: '' };
          },
          close: async () => {},
        }),
      }),
      email: {
        async send(_: unknown, delivery: Delivery, notification: Notification) {
          if (notification.kind === 'group') mails.push({ delivery, notification });
          return { kind: 'accepted' as const };
        },
        close: async () => {},
      },
      pagerduty: {
        async send(integration: PagerdutyIntegration, { receiver }: Delivery, notification: Notification) {
          const count = (tries.get(receiver) ?? 0) + 1;
          tries.set(receiver, count);
          const answer = options.answer?.(receiver, minute(), count) ?? 200;
          if (answer !== 200) return { kind: 'failed', reason: 'unavailable', error: `HTTP ${answer}` };
          const sent = notification as GroupNotification;
          const request = pagerdutyRequest(integration, sent, 'http://nestwatch.example');
          if (typeof request === 'string') throw new Error(request);
          pages.push({ receiver, minute: minute(), ...(request.body as Omit<Page, 'receiver' | 'minute'>) });
          return { kind: 'accepted' as const };
        },
        close: async () => {},
      },
    } as unknown as OpenChannels;
    const { receivers } = options;
    const delivery = createDelivery({
      store,
      receivers,
      channels,
      clock,
      random: () => 0.5,
      report,
      externalUrl: 'http://nestwatch.example',
      failed: () => alerting.wake(),
    });
    const alerting = createAlerting({
      store,
      config: {
        regions: [{ name: 'eu' }, { name: 'us' }],
        route,
        receivers,
        rules,
        inhibitRules: options.inhibitRules ?? [],
        timeIntervals: options.timeIntervals ?? new Map(),
        context: { show: FINDING_SORTS, backAfterMs: 7 * 86_400_000 },
        poll: { maxAlertAgeMs: 240 * MINUTE_MS, initialLookbackMs: 60 * MINUTE_MS },
      },
      clock,
      report,
      queued: delivery.wake,
    });
    const one: Life = { stop, alerting, ended: Promise.resolve(), dead: false };
    // It begins to run once it is the current one.
    one.ended = Promise.resolve().then(() =>
      Promise.all([alerting.run(stop.signal), delivery.run(stop.signal)]),
    );
    return one;
  }

  async function happens(
    type: string,
    pages: Iterable<readonly string[]>,
    agoUs = 0,
    message = type === 'failed' ? 'the provider answered 429' : '',
  ): Promise<void> {
    const stream = await inner.streams.open('eu', 'flight', 'all');
    const commit = createCommit({
      store: { ...inner, transaction: (work) => inner.transaction((tx) => counted(tx, work)) },
      rules,
      forward: [],
      backAfterMs: 7 * 86_400_000,
      clock,
      report: () => {},
      changed: () => life.alerting.wake(),
    });
    const atUs = clock.nowUs() - agoUs;
    const endedUs = atUs - (options.roundedByUs ?? 0);
    const eventOf = (name: string): Event => {
      entries += 1;
      const [nest, named] = name.includes('/') ? name.split('/') : ['Marketing', name];
      const [id, bird = id] = named!.split(':');
      return {
        key: `eu/flight/f-${String(entries).padStart(6, '0')}/${type}`,
        region: 'eu',
        feed: 'flight',
        type: `flight.${type}`,
        occurredAt: formatInstant(endedUs),
        occurredAtUs: endedUs,
        observedAtUs: clock.nowUs(),
        nestId: `nest-${nest}`,
        nest: nest!,
        birdId: `${nest}/${id}`,
        bird: bird!,
        message,
        attributes: { flight_id: `f-${entries}`, status: type, started_at_us: atUs - 1_000_000 },
      };
    };
    for (const birds of pages) {
      await commit({
        region: 'eu',
        stream: { stream: stream.stream, feed: 'flight' },
        events: birds.map((name) => ({ event: eventOf(name), historic: false })),
      });
    }
    await clock.advance(0);
  }

  let life = begin();
  await clock.advance(0);
  let ids = 0;
  const silences = createSilenceEditor({
    store: { ...inner, transaction: (work) => inner.transaction((tx) => counted(tx, work)) },
    clock,
    report: () => {},
    recurrences: createRecurrences(),
    newId: () => `00000000-0000-4000-9000-${String(++ids).padStart(12, '0')}`,
    changed: () => life.alerting.wake(),
  });
  const alertDesk = createAlertResolver({
    store: { ...inner, transaction: (work) => inner.transaction((tx) => counted(tx, work)) },
    rules,
    clock,
    report: () => {},
    probe: () => {},
    changed: () => life.alerting.wake(),
  });
  const desk: Desk = {
    clock,
    store: inner,
    received,
    mails,
    pages,
    happenings,
    async story(steps) {
      for (const step of steps.split(', ')) {
        const [deed, ...birds] = step.split(' ');
        if (deed && deed in deeds) await deeds[deed as keyof typeof deeds](...birds);
        else await desk.pass(Number(deed));
      }
    },
    fails: (...birds) => happens('failed', [birds]),
    failsWith: (message, birds, agoMinutes = 0) =>
      happens('failed', [birds], agoMinutes * 60_000_000, message),
    failInPages: (pages) => happens('failed', pages),
    succeeds: (...birds) => happens('succeeded', [birds]),
    failedLongAgo: (...birds) => happens('failed', [birds], 300 * 60_000_000),
    succeededLongAgo: (...birds) => happens('succeeded', [birds], 299 * 60_000_000),
    async acknowledges(...birds) {
      const alerts = await inner.alerts.firing(undefined, 1_000);
      for (const { id, labels } of alerts) {
        if (!birds.includes(labels.bird ?? '')) continue;
        const result = await silences.acknowledge([{ id }], { createdBy: 'anna', comment: 'on it' });
        expect(result.ok).toBe(true);
      }
      await clock.advance(0);
    },
    async resolves(...birds) {
      const alerts = await inner.alerts.firing(undefined, 1_000);
      for (const { id, labels } of alerts) {
        if (!birds.includes(labels.bird ?? '')) continue;
        expect((await alertDesk.resolve(id, { createdBy: 'anna', comment: 'mended' })).ok).toBe(true);
      }
      await clock.advance(0);
    },
    async silences(bird, minutes) {
      ids += 1;
      const nowUs = clock.nowUs();
      const one = silence(`00000000-0000-4000-9000-${String(ids).padStart(12, '0')}`, {
        ...{ startsAtUs: nowUs, endsAtUs: nowUs + minutes * 60_000_000, updatedAtUs: nowUs },
        matchers: parseMatchers(`bird="${bird}"`),
      });
      await inner.silences.put([one]);
    },
    pass: (minutes) => clock.advance(minutes * MINUTE_MS),
    async restart(changes = {}) {
      life.stop.abort();
      await clock.advance(0);
      await life.ended;
      route = { ...route, ...changes };
      life = begin();
      await clock.advance(0);
    },
    async hurry() {
      await life.alerting.drain();
      await clock.advance(0);
    },
    committed: () => committed,
    async states() {
      const sums: Record<string, number> = {};
      for (const { state, count } of await inner.outbox.count()) {
        sums[state] = (sums[state] ?? 0) + count;
      }
      return sums;
    },
    lines: (receiver) =>
      received
        .filter((one) => !one.again && (receiver === undefined || one.receiver === receiver))
        .map((one) => `${one.receiver}@${Math.floor(one.minute)} ${line(one.body)}`),
    async close() {
      life.stop.abort();
      await clock.advance(0);
      await life.ended;
    },
  };
  const { fails, succeeds, failedLongAgo, succeededLongAgo, acknowledges, resolves } = desk;
  const { restart, hurry } = desk;
  const deeds = {
    ...{ fails, succeeds, failedLongAgo, succeededLongAgo, acknowledges, resolves },
    ...{ restart: () => restart(), hurry: () => hurry() },
  };
  onTestFinished(desk.close);
  return desk;
}

function line({ status, alerts }: Body): string {
  const each = alerts.map(({ labels, status: state, events }) => {
    const about = labels.bird ?? labels.receiver ?? labels.alertname;
    return `${about} ${state} +${events.length}`;
  });
  return `${status}: ${each.toSorted().join('; ')}`;
}
