/** Tries a delivery once: sends it, judges the outcome, and reports that. */
import type { OpenChannels, Outcome } from '../channels/channel.ts';
import { atPosition, integrationAt, linksFrom } from '../channels/integration-identity.ts';
import type { Integration, Receiver } from '../channels/receiver.ts';
import { BEFORE_WATCH, type Event } from '../domain/alert/event.ts';
import { leftOutWords } from '../domain/grouping/member-recipients.ts';
import {
  MAX_ACKNOWLEDGE_LINKS,
  type Notification,
  type NotifiedAlert,
} from '../domain/grouping/notification.ts';
import { NestwatchError } from '../errors.ts';
import type { FailureReason, Report } from '../report.ts';
import type { ClaimedDelivery, Delivery, Settlement } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import type { Clock, Random } from '../time/clock.ts';

export interface AttemptOptions {
  readonly receivers: readonly Receiver[];
  readonly channels: OpenChannels;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  readonly externalUrl: string;
  /** True if no external URL is configured: then messages have no links to the page. */
  readonly hasDefaultUrl?: boolean | undefined;
  /** Without it, messages have no link to acknowledge. */
  readonly links?: AcknowledgeLinks | undefined;
}

/** Makes the links by which the reader of a message may acknowledge an alert. */
interface AcknowledgeLinks {
  /** `sentAtUs` is when the message was written. */
  urlOf(alert: Pick<NotifiedAlert, 'id' | 'startsAtUs'>, sentAtUs: number): string;
}

/** Tries once. Resolves to how the delivery is to be settled; never rejects. */
export async function attempt(
  claimed: ClaimedDelivery,
  options: AttemptOptions,
  latency: Latency,
): Promise<Settlement> {
  const { clock, random } = options;
  const outcome = await send(claimed, options);
  const nowUs = clock.nowUs();
  const verdict = judge(claimed.delivery, outcome, nowUs, random);
  const isAccepted = outcome.kind === 'accepted';
  const latencyMs = isAccepted ? latency.sinceOldestMs(claimed.notification, nowUs) : undefined;
  reportAttempt(claimed, outcome, verdict, latencyMs, options.report);
  return verdict.settlement;
}

async function send({ delivery, notification }: ClaimedDelivery, options: AttemptOptions): Promise<Outcome> {
  const { receivers, channels, report } = options;
  const receiver = receivers.find(({ name }) => name === delivery.receiver);
  try {
    const integration = integrationOf(receiver, delivery, notification);
    if (!integration) {
      const why = `receiver ${delivery.receiver} with ${delivery.integration} is no longer configured`;
      return { kind: 'nothing', why, isGone: true };
    }
    const links = options.hasDefaultUrl ? undefined : options.links;
    const message = withAcknowledgeUrls(notification, links);
    const address = linksFrom(integration, options);
    return await channels[integration.kind]!.send(integration, delivery, message, address);
  } catch (error) {
    if (error instanceof NestwatchError) {
      return { kind: 'failed', reason: error.code, error: error.message };
    }
    report({ what: 'trouble', stage: 'delivery', error });
    return { kind: 'failed', reason: 'bug', error: 'an unforeseen error; the log has it' };
  }
}

/**
 * The integration that a delivery was queued for, which may stand at another position after a reload. If the stored
 * notification is damaged, only its kind is known: then it is the one at its position if that has this kind, or else
 * the receiver's first of this kind.
 */
export function integrationOf(
  receiver: Receiver | undefined,
  { position, integration: kind }: ClaimedDelivery['delivery'],
  notification: ClaimedDelivery['notification'] | null,
): Integration | undefined {
  if (!receiver) return undefined;
  const { integrations } = receiver;
  const identities = notification?.identities;
  if (Array.isArray(identities)) return integrationAt(integrations, position, identities.map(String));
  const there = atPosition(integrations, position);
  return there?.kind === kind ? there : integrations.find((one) => one.kind === kind);
}

/**
 * Adds to the first alerts that fire the link by which the reader may acknowledge them. It is added when the message is
 * sent, and not stored. It follows from the notification, so every attempt sends the same.
 */
export function withAcknowledgeUrls(
  notification: Notification,
  links: AcknowledgeLinks | undefined,
): Notification {
  if (!links || notification.kind !== 'group' || notification.firingTotal === 0) return notification;
  const firing = notification.alerts.filter(({ status }) => status === 'firing');
  const linked = new Set(firing.slice(0, MAX_ACKNOWLEDGE_LINKS));
  const alerts = notification.alerts.map((alert) =>
    linked.has(alert) ? { ...alert, acknowledgeUrl: links.urlOf(alert, notification.createdAtUs) } : alert,
  );
  return { ...notification, alerts };
}

function reportAttempt(
  { delivery: { receiver, integration, id, attempts }, notification }: ClaimedDelivery,
  outcome: Outcome,
  { settlement, reason }: Verdict,
  latencyMs: number | undefined,
  report: Report,
): void {
  if (outcome.kind === 'accepted' && outcome.templateError !== undefined) {
    report({ what: 'template_failed', receiver, integration, error: outcome.templateError });
  }
  const left = 'leftOut' in outcome ? (outcome.leftOut ?? []) : [];
  for (const one of left) report({ what: 'left_out', ...one, receiver, integration });
  report({
    what: 'delivery',
    receiver,
    integration,
    id,
    outcome: settlement.state,
    attempt: attempts,
    ...(reason && { reason }),
    ...(settlement.lastError && { error: settlement.lastError }),
    ...(latencyMs !== undefined && { latencyMs }),
    ...(notification?.kind === 'forward' && { isForwarded: true }),
  });
}

/**
 * Measures how long news takes to reach people. Events that were history when their region or Bird was first watched do
 * not count.
 */
interface Latency {
  /** Looks up since when the regions of these notifications are watched. To be called before they are sent. */
  prepare(tx: Transaction, notifications: readonly Notification[]): Promise<void>;
  /** Milliseconds from the oldest event that counts to `nowUs`; undefined if there is none. */
  sinceOldestMs(notification: Notification, nowUs: number): number | undefined;
}

export function createLatency(): Latency {
  // By region. It never changes once it is known.
  const watchedSinceUs = new Map<string, number>();

  return {
    async prepare(tx, notifications) {
      for (const notification of notifications) {
        for (const { region } of eventsOf(notification)) {
          const sinceUs = watchedSinceUs.has(region) ? undefined : await tx.inventory.knownSince(region);
          if (sinceUs !== undefined) watchedSinceUs.set(region, sinceUs);
        }
      }
    },
    sinceOldestMs(notification, nowUs) {
      let oldestUs = Number.POSITIVE_INFINITY;
      for (const { region, occurredAtUs, attributes } of eventsOf(notification)) {
        if (attributes?.[BEFORE_WATCH] === true) continue;
        if (occurredAtUs >= (watchedSinceUs.get(region) ?? 0)) oldestUs = Math.min(oldestUs, occurredAtUs);
      }
      return oldestUs === Number.POSITIVE_INFINITY ? undefined : Math.max(0, (nowUs - oldestUs) / 1000);
    },
  };
}

/**
 * The events of a notification. One that is damaged in the store has none: only its own sending may fail, not the
 * others.
 */
function eventsOf(notification: Notification): readonly Event[] {
  const events = () => {
    switch (notification.kind) {
      case 'digest':
        return [];
      case 'forward':
        return notification.events;
      case 'group':
        return notification.alerts.flatMap((alert) => alert.events);
    }
  };
  try {
    return events().filter((event) => typeof event?.region === 'string');
  } catch {
    return [];
  }
}

// Decides what becomes of a delivery after one attempt. Pure: nothing here sends, waits or stores.
//
//   accepted → delivered
//   nothing  → suppressed
//   failed   → retry with exponential backoff, until 72 h after its creation; then dead. While the integration accepts
//              nothing at all, the store brings one retry a minute forward, and all of them once it accepts something
//   unknown  → ambiguous, retried like `failed`; the receiver drops the repeat by its id
//   refused  → retry, twice and slowly, since a proxy without its backend also answers 404; then dead, or at once if final.
//              An attempt that fails in another way starts the count of refusals again

/** How long a receiver may be down before deliveries are lost. */
export const EXPIRES_AFTER_MS = 72 * 3_600_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 600_000;
/** The waits after the first and the second refusal; the third is final. */
const REFUSED_WAITS_MS = [60_000, 300_000];

interface Verdict {
  readonly settlement: Settlement;
  /** Why it is not delivered, or not to all of several recipients; absent if it was delivered to all or suppressed. */
  readonly reason?: FailureReason;
}

/** Judges the outcome of an attempt. `delivery` is as claimed, so its `attempts` counts this attempt. */
export function judge(delivery: Delivery, outcome: Outcome, nowUs: number, random: Random): Verdict {
  const final = (state: 'delivered' | 'dead' | 'suppressed', lastError: string): Settlement => ({
    id: delivery.id,
    state,
    nextAttemptAtUs: nowUs,
    lastError,
  });
  const left = 'leftOut' in outcome ? leftOutWords(outcome.leftOut) : '';
  const refusedBy = [delivery.refusedBy, left].filter(Boolean).join('; ');
  /** An error for people, with the recipients whom it does not reach. */
  const inFull = (error: string) => (refusedBy === '' ? error : `${error}; not sent to ${refusedBy}`);

  switch (outcome.kind) {
    case 'accepted': {
      const notes = [refusedBy && `not sent to ${refusedBy}`, outcome.templateError];
      const settlement = final('delivered', notes.filter(Boolean).join('; '));
      const { reference } = outcome;
      return {
        settlement: { ...settlement, ...(reference && { reference }) },
        ...(refusedBy && { reason: 'rejected' }),
      };
    }
    case 'nothing':
      return {
        settlement: {
          ...final('suppressed', outcome.why),
          ...(outcome.isGone && { isGone: true }),
          ...(outcome.leftOut && { isForNobody: true }),
        },
      };
    case 'refused': {
      const refusals = (delivery.refusals ?? 0) + 1;
      const count = `refusal ${refusals} of ${REFUSED_WAITS_MS.length + 1}`;
      const lastError = `${inFull(outcome.error)} (${outcome.isFinal ? 'refused for good' : count})`;
      const failure = { refusals, ...(refusedBy && { refusedBy }), failed: true };
      const waitMs = outcome.isFinal ? undefined : REFUSED_WAITS_MS[refusals - 1];
      const settlement: Settlement =
        waitMs === undefined
          ? { ...final('dead', lastError), ...failure }
          : {
              id: delivery.id,
              state: 'retry',
              nextAttemptAtUs: nowUs + waitMs * 1000,
              notBeforeUs: nowUs + waitMs * 1000,
              lastError,
              ...failure,
            };
      return { settlement, reason: outcome.reason };
    }
    default: {
      const remaining = outcome.kind === 'failed' && outcome.remaining && { remaining: outcome.remaining };
      const failure = { ...(refusedBy && { refusedBy }), failed: true, ...remaining };
      const expiresAtUs = delivery.createdAtUs + EXPIRES_AFTER_MS * 1000;
      if (nowUs >= expiresAtUs) {
        const lastError = `${inFull(outcome.error)} (given up after 72 h)`;
        return { settlement: { ...final('dead', lastError), ...failure }, reason: 'expired' };
      }
      const asked = outcome.kind === 'failed' ? (outcome.retryAfterMs ?? 0) : 0;
      const waitMs = Math.max(waitAfter(delivery.attempts, random), asked);
      // The last attempt comes exactly at the end, however long the receiver asked us to wait.
      const after = (ms: number) => Math.min(nowUs + Math.round(ms * 1000), expiresAtUs);
      return {
        settlement: {
          id: delivery.id,
          state: outcome.kind === 'unknown' ? 'ambiguous' : 'retry',
          nextAttemptAtUs: after(waitMs),
          ...(asked > 0 && { notBeforeUs: after(asked) }),
          lastError: inFull(outcome.error),
          ...failure,
        },
        reason: outcome.reason,
      };
    }
  }
}

/** The backoff: doubles from 1 s to 10 min. Chance takes off up to half of it, so that many deliveries spread out. */
function waitAfter(attempts: number, random: Random): number {
  const ceilingMs = Math.min(FIRST_WAIT_MS * 2 ** Math.max(0, attempts - 1), LONGEST_WAIT_MS);
  return ceilingMs * (0.5 + random() / 2);
}
