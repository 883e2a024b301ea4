/**
 * The receivers: a webhook that takes every event, and a webhook and a mailbox that take alerts. At random they
 * refuse, do not answer, or accept without saying so. They remember every message that they accepted, and whether the
 * sender was told.
 */
import { createHash } from 'node:crypto';
import type { OpenChannel, Outcome } from '../../src/channels/channel.ts';
import type { EventJson } from '../../src/domain/alert/event.ts';
import type { GroupNotification } from '../../src/domain/grouping/notification.ts';
import { NestwatchError } from '../../src/errors.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../src/http/transport.ts';
import { type Clock, type Random, sleep } from '../../src/time/clock.ts';
import type { Mortal } from './mortal.ts';
import type { ReceiverPlan } from './plan.ts';

export type Inbox = 'lake' | 'hook' | 'mail';

export interface Arrival {
  readonly inbox: Inbox;
  readonly id: string;
  /** When its sender began; the sender may have been paused since. */
  readonly begunAtUs: number;
  readonly atUs: number;
  readonly events: readonly EventJson[];
  readonly alerts: readonly ToldAlert[];
  /** Whether it is the summary of old news. */
  readonly isSummary: boolean;
  /** Who sent it. */
  readonly life: Mortal;
  /** When the sender learned that it was accepted; Infinity for never. */
  confirmedAtUs: number;
}

export interface ToldAlert {
  readonly status: string;
  readonly fingerprint: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly eventKeys: readonly string[];
  readonly omitted: number;
}

export interface Receivers {
  readonly arrivals: readonly Arrival[];
  /** What a well-behaved sender never does, in words. */
  readonly complaints: readonly string[];
  /** From now on everything is accepted at once. */
  heal(): void;
  transport(life: Mortal): Transport;
  mail(life: Mortal): OpenChannel;
  /** How many messages, of this life or of all, are in flight. */
  underWay(life?: Mortal): number;
  /** Of all accepted messages, in order. */
  digest(): string;
}

type Message = Omit<Arrival, 'begunAtUs' | 'atUs' | 'life' | 'confirmedAtUs'>;

/** What has happened to one message so far. */
interface Told {
  /** The life whose attempt is in flight. */
  inFlight: Mortal | undefined;
  /**
   * The life that was asked to wait, until when, and how far its clock was ahead: one whose clock was set may come
   * sooner.
   */
  limited: Mortal | undefined;
  limitedAtUs: number;
  aheadUs: number;
  notBeforeUs: number;
  refusals: number;
}

const NOTHING_SAID = { limited: undefined, limitedAtUs: 0, aheadUs: 0, notBeforeUs: 0, refusals: 0 };

/** What happens to one message. */
type Fate = 'accepted' | Exclude<keyof ReceiverPlan, 'latencyMs'>;

const TIMEOUT_MS = 10_000;
const RETRY_AFTER_S = 20;
const WELL_US = 120e6;
/** The time after which all know the answer. */
const SETTLED_US = 5e6;
/** Clocks are read in whole milliseconds. */
const ROUNDED_US = 1_000;

export function createReceivers(clock: Clock, random: Random, plan: ReceiverPlan): Receivers {
  const arrivals: Arrival[] = [];
  const complaints: string[] = [];
  const hash = createHash('sha256');
  /** By inbox and id: what was answered, and whether an attempt is in flight. */
  const known = new Map<string, Told>();
  let isHealed = false;

  function draw(): Fate {
    if (isHealed) return 'accepted';
    let chance = random();
    const { latencyMs: _, ...shares } = plan;
    for (const [fate, share] of Object.entries(shares)) {
      chance -= share;
      if (chance < 0) return fate as Fate;
    }
    return 'accepted';
  }

  const sending = new Map<Mortal, number>();

  const aheadOf = (life: Mortal) => life.clock.nowUs() - clock.nowUs();

  /**
   * A sender that was asked to wait must not return sooner, unless its own clock was set. Nor may another sender, if
   * the first had time to tell it.
   */
  function isTooSoon({ limited, limitedAtUs, aheadUs, notBeforeUs }: Told, life: Mortal): boolean {
    const nowUs = clock.nowUs();
    if (!limited || nowUs + ROUNDED_US >= notBeforeUs) return false;
    if (limited === life) return aheadUs === aheadOf(life);
    return wasWell(limited, nowUs) && nowUs - limitedAtUs > SETTLED_US;
  }

  /** Delivers one message: returns what happens to it, or never returns if its life has ended. */
  async function receive(life: Mortal, message: Message, body: string): Promise<Fate> {
    sending.set(life, (sending.get(life) ?? 0) + 1);
    try {
      return await meet(life, message, body);
    } finally {
      sending.set(life, sending.get(life)! - 1);
    }
  }

  async function meet(life: Mortal, message: Message, body: string): Promise<Fate> {
    const begunAtUs = clock.nowUs();
    const key = `${message.inbox} ${message.id}`;
    const fresh: Told = { inFlight: undefined, ...NOTHING_SAID };
    const about = known.get(key) ?? fresh;
    known.set(key, about);
    if (about.inFlight === life) complaints.push(`${key} was sent while it was still under way`);
    // The sender may have been considered dead, or may not know the outcome yet.
    if (about.inFlight && about.inFlight !== life && wasWell(about.inFlight, clock.nowUs()))
      complaints.push(`${key} was sent by two at once`);
    if (isTooSoon(about, life)) complaints.push(`${key} was sent before its Retry-After had passed`);
    about.inFlight = life;

    let fate = draw();
    // A third refusal would rightly end the delivery.
    if (fate === 'notFound' && about.refusals === 2) fate = 'accepted';
    if (fate === 'notFound') about.refusals += 1;
    const isAccepted = fate === 'accepted' || fate === 'acceptedTimeout' || fate === 'acceptedReset';
    const delayMs = isHealed ? 0 : random() * plan.latencyMs;
    if (life.endsAt('sending')) return never();
    if (delayMs > 0) await sleep(life.clock, delayMs / 2);
    let arrival: Arrival | undefined;
    if (isAccepted) {
      arrival = { ...message, begunAtUs, atUs: clock.nowUs(), life, confirmedAtUs: Number.POSITIVE_INFINITY };
      arrivals.push(arrival);
      hash.update(`${arrival.atUs} ${key} ${body}\n`);
      if (life.endsAt('accepted')) return never();
    }
    if (delayMs > 0) await sleep(life.clock, delayMs / 2);
    if (fate === 'timeout' || fate === 'acceptedTimeout') await sleep(life.clock, TIMEOUT_MS);
    if (arrival && fate === 'accepted' && !life.isDead()) arrival.confirmedAtUs = clock.nowUs();
    if (fate === 'limited') {
      about.limitedAtUs = clock.nowUs();
      about.notBeforeUs = about.limitedAtUs + RETRY_AFTER_S * 1e6;
      about.limited = life;
      about.aheadUs = aheadOf(life);
    }
    about.inFlight = undefined;
    return fate;
  }

  return {
    arrivals,
    complaints,
    heal() {
      isHealed = true;
    },
    digest: () => hash.copy().digest('hex'),
    underWay: (life) =>
      life ? (sending.get(life) ?? 0) : [...sending.values()].reduce((sum, one) => sum + one, 0),
    transport: (life) => ({
      async send(request) {
        return answerOf(await receive(life, messageOf(request), request.body ?? ''));
      },
      async close() {},
    }),
    mail: (life) => ({
      async send(_integration, delivery, notification) {
        if (notification.kind !== 'group') throw new NestwatchError('usage', 'events are not mailed');
        const alerts = notification.alerts.map((alert) => told(alert));
        const isSummary = notification.summary !== undefined;
        const message = { inbox: 'mail', id: delivery.id, events: [], alerts, isSummary } as const;
        return outcomeOf(await receive(life, message, JSON.stringify(alerts)));
      },
      async close() {},
    }),
  };
}

/** Nothing has kept it from its work for as long as others would wait for it. */
function wasWell(life: Mortal, nowUs: number): boolean {
  return life.unwellAfterUs(nowUs - WELL_US) > nowUs;
}

function never(): Promise<never> {
  return new Promise(() => {});
}

function told(alert: GroupNotification['alerts'][number]): ToldAlert {
  const { status, fingerprint, labels, annotations, events, eventsOmitted: omitted } = alert;
  return {
    status,
    fingerprint,
    labels,
    annotations,
    eventKeys: events.map(({ key }) => key),
    omitted,
  };
}

function messageOf({ url, headers, body = '' }: HttpRequest): Message {
  const id = headers['webhook-id'] ?? '';
  if (url.endsWith('/lake')) {
    const events = (JSON.parse(body) as { data: EventJson }[]).map(({ data }) => data);
    return { inbox: 'lake', id, events, alerts: [], isSummary: false };
  }
  const { alerts, catching_up: summary } = JSON.parse(body) as {
    alerts: (Pick<ToldAlert, 'status' | 'fingerprint' | 'labels' | 'annotations'> & {
      events: EventJson[];
      events_omitted: number;
    })[];
    catching_up?: unknown;
  };
  return {
    inbox: 'hook',
    id,
    events: [],
    alerts: alerts.map(({ events, events_omitted: omitted, ...alert }) => ({
      ...alert,
      eventKeys: events.map(({ key }) => key),
      omitted,
    })),
    isSummary: summary !== undefined,
  };
}

function answerOf(fate: Fate): HttpResponse {
  const answer = (status: number, headers = {}) => ({ status, headers, body: '' });
  switch (fate) {
    case 'accepted':
      return answer(200);
    case 'unavailable':
      return answer(503);
    case 'limited':
      return answer(429, { 'retry-after': String(RETRY_AFTER_S) });
    case 'notFound':
      return answer(404);
    case 'unreachable':
      throw new NestwatchError('unreachable', 'no answer from the receiver', {
        cause: broken('ECONNREFUSED'),
      });
    case 'timeout':
    case 'acceptedTimeout':
      throw new NestwatchError('timeout', `the receiver did not answer within ${TIMEOUT_MS} ms`);
    case 'acceptedReset':
      throw new NestwatchError('unreachable', 'no answer from the receiver', { cause: broken('ECONNRESET') });
  }
}

function broken(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function outcomeOf(fate: Fate): Outcome {
  switch (fate) {
    case 'accepted':
      return { kind: 'accepted' };
    case 'limited':
      return { kind: 'failed', reason: 'rate_limited', error: '450', retryAfterMs: RETRY_AFTER_S * 1000 };
    case 'unavailable':
    case 'unreachable':
      return { kind: 'failed', reason: 'unreachable', error: 'no answer' };
    case 'notFound':
      return { kind: 'refused', reason: 'rejected', error: '550' };
    default:
      return { kind: 'unknown', reason: 'timeout', error: 'no answer' };
  }
}
