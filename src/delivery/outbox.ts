/**
 * The stage that tells people. All that is to be told stands in the store as deliveries; this stage claims them,
 * sends them and settles them:
 *
 *   pending ──claim──► leased ──send──► delivered
 *                        │ ▲            dead         given up: refused for good, or not accepted for 72 h
 *                        │ │            suppressed   nothing to send, or nobody left to send it to
 *                        ▼ │
 *                 retry, ambiguous      claimed again when their instant comes
 *
 * A claim is durable, with the attempt counted, before the first byte leaves, and a delivery carries the same id on
 * every try: so it is sent at least once, and a receiver can drop repeats. What another life of this process left
 * leased was perhaps sent; it becomes ambiguous when this one starts.
 *
 * Every integration of every receiver has a line of its own, so a slow or dead one delays nobody else. A line takes
 * turns: one transaction settles what has ended and claims as much again. It claims more than it has in flight, so
 * that sending goes on while a turn commits, and takes the next turn when half of what it holds has ended, or a moment
 * after the first has: a commit costs as much as a few deliveries. The order within a lane is the store's: it gives
 * only the first of each.
 */

import type { OpenChannels, Outcome, Pace } from '../channels/channel.ts';
import type { Integration, Receiver } from '../channels/receiver.ts';
import { channelOf } from '../channels/registry.ts';
import { NestwatchError } from '../errors.ts';
import type { Report } from '../report.ts';
import type { ClaimedDelivery, Settlement } from '../store/outbox-store.ts';
import type { Store } from '../store/store.ts';
import { type Clock, createBell, type Random, sleep } from '../time/clock.ts';
import { type AcknowledgeLinks, withAcknowledgeUrl } from './acknowledge-url.ts';
import { createLatency } from './latency.ts';
import { judge } from './retry.ts';

export interface Delivery {
  /** Something was queued. */
  wake(): void;
  /** Runs until `signal` aborts; then claims nothing more and resolves when what is in flight has ended. */
  run(signal: AbortSignal): Promise<void>;
  /** Tries everything once that is due now; resolves to how many were not accepted, and rejects when the store fails. */
  drain(): Promise<number>;
}

/** Where the integration is no longer configured, so that nothing is sent. */
const ANY_PACE: Pace = { inFlight: 8, claimed: 256 };
/** How long a try that has ended may wait to be settled; the next of its lane waits for that. */
const SETTLED_WITHIN_MS = 50;
/** The clock may be set meanwhile, so that no wait is trusted for longer. */
const LONGEST_WAIT_MS = 60_000;
/** How long the stage rests when the store refuses a transaction. */
const STORE_PAUSE_MS = 1_000;

export function createDelivery(options: {
  readonly store: Store;
  readonly receivers: readonly Receiver[];
  readonly channels: OpenChannels;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  readonly externalUrl: string;
  /** Without it, messages have no link to acknowledge. */
  readonly links?: AcknowledgeLinks | undefined;
  /** Called after a commit that settled a failed try. */
  readonly failed?: () => void;
}): Delivery {
  const { store, channels, clock, random, report, externalUrl, links } = options;
  const receivers = new Map(options.receivers.map((receiver) => [receiver.name, receiver]));
  const bell = createBell(clock);
  const latency = createLatency();
  let isRecovered = false;
  /** Tries in this life that were not accepted. */
  let failedTries = 0;

  async function recover(): Promise<void> {
    if (isRecovered) return;
    await store.transaction((tx) => tx.outbox.recoverLeases(clock.nowUs()));
    isRecovered = true;
  }

  /** One try of one delivery. */
  async function attempt({ delivery, notification }: ClaimedDelivery): Promise<Settlement> {
    const outcome = await send({ delivery, notification });
    const nowUs = clock.nowUs();
    const { settlement, reason } = judge(delivery, outcome, nowUs, random);
    if (settlement.failed) failedTries += 1;
    if (outcome.kind === 'accepted' && outcome.templateError !== undefined) {
      const { receiver, integration } = delivery;
      report({ what: 'template_failed', receiver, integration, error: outcome.templateError });
    }
    const latencyMs = outcome.kind === 'accepted' ? latency.sinceOldestMs(notification, nowUs) : undefined;
    report({
      what: 'delivery',
      receiver: delivery.receiver,
      integration: delivery.integration,
      id: delivery.id,
      outcome: settlement.state,
      attempt: delivery.attempts,
      ...(reason && { reason }),
      ...(settlement.lastError && { error: settlement.lastError }),
      ...(latencyMs !== undefined && { latencyMs }),
    });
    return settlement;
  }

  async function send({ delivery, notification }: ClaimedDelivery): Promise<Outcome> {
    const integration = integrationOf(receivers.get(delivery.receiver), delivery);
    if (!integration) {
      return {
        kind: 'nothing',
        why: `receiver ${delivery.receiver} with ${delivery.integration} is no longer configured`,
      };
    }
    try {
      const channel = channels[integration.kind]!;
      const told = withAcknowledgeUrl(notification, links);
      return await channel.send(integration, delivery, told, externalUrl);
    } catch (error) {
      if (error instanceof NestwatchError) {
        return { kind: 'failed', reason: error.code, error: error.message };
      }
      report({ what: 'trouble', stage: 'delivery', error });
      return { kind: 'failed', reason: 'bug', error: 'an unforeseen error; the log has it' };
    }
  }

  /**
   * Works on one integration until nothing of it is due at the instant that `dueUs` tells and nothing is in flight.
   * Resolves to whether it claimed anything. With a signal it bears failures of the store, without one it rejects.
   */
  async function work(
    at: Destination,
    line: Line,
    dueUs: () => number,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const integration = receivers.get(at.receiver)?.integrations[at.position];
    const pace = integration ? channelOf(integration).pace : ANY_PACE;
    const atOnce = pace.inFlight;
    const claimed: ClaimedDelivery[] = [];
    const ended: Settlement[] = [];
    let endedSinceMs = 0;
    let inFlight = 0;
    let hasWorked = false;

    function isTurn(stopping: boolean): boolean {
      if (signal?.aborted) return !stopping || ended.length > 0;
      // More may be due, and there are hands free for it.
      if (line.wanted && inFlight < atOnce) return true;
      if (ended.length === 0) return false;
      return (
        ended.length >= inFlight + claimed.length || clock.monotonicMs() - endedSinceMs >= SETTLED_WITHIN_MS
      );
    }

    function fill(): void {
      while (inFlight < atOnce && claimed.length > 0 && !signal?.aborted) {
        inFlight += 1;
        void attempt(claimed.shift()!).then((settlement) => {
          inFlight -= 1;
          if (ended.length === 0) endedSinceMs = clock.monotonicMs();
          ended.push(settlement);
          fill();
          line.bell.ring();
        });
      }
    }

    for (;;) {
      const stopping = signal?.aborted ?? false;
      if (stopping) ended.push(...claimed.splice(0).map(({ delivery }) => released(delivery)));
      const room = stopping ? 0 : pace.claimed - inFlight - claimed.length;
      const settlements = ended.splice(0);
      line.wanted = false;
      try {
        const news = await turn(at, settlements, room, dueUs());
        hasWorked ||= news.length > 0;
        claimed.push(...news);
        if (settlements.some(({ failed }) => failed)) options.failed?.();
        // A new instant to wake up at.
        if (settlements.some(({ state }) => state === 'retry' || state === 'ambiguous')) bell.ring();
      } catch (error) {
        // Nothing of the turn happened. What ended is settled later; if that never comes, the next start repeats it.
        report({ what: 'trouble', stage: 'delivery', error });
        ended.unshift(...settlements);
        if (!signal) throw error;
        if (stopping && inFlight === 0) return hasWorked;
        await sleep(clock, STORE_PAUSE_MS, stopping ? undefined : signal);
        continue;
      }
      fill();
      if (inFlight === 0 && claimed.length === 0 && ended.length === 0) return hasWorked;
      while (!isTurn(stopping)) {
        await line.bell.wait(
          ended.length > 0 ? SETTLED_WITHIN_MS : Number.POSITIVE_INFINITY,
          stopping ? undefined : signal,
        );
      }
    }
  }

  /** Settles and claims in one transaction. */
  async function turn(
    { receiver, position }: Destination,
    settlements: readonly Settlement[],
    room: number,
    dueUs: number,
  ): Promise<ClaimedDelivery[]> {
    if (settlements.length === 0 && room === 0) return [];
    return store.transaction(async (tx) => {
      if (settlements.length > 0) await tx.outbox.settle(settlements, clock.nowUs());
      if (room === 0) return [];
      const claimed = await tx.outbox.claim(receiver, position, dueUs, room);
      await latency.prepare(
        tx,
        claimed.map(({ notification }) => notification),
      );
      return claimed;
    });
  }

  /** Claimed but not begun when the stage stops: free again at once. */
  function released({ id, lastError, refusals, refusedBy }: ClaimedDelivery['delivery']): Settlement {
    return {
      id,
      state: 'retry',
      nextAttemptAtUs: clock.nowUs(),
      lastError,
      ...(refusals !== undefined && { refusals }),
      ...(refusedBy !== undefined && { refusedBy }),
    };
  }

  const newLine = (): Line => ({ bell: createBell(clock), wanted: false });

  return {
    wake: bell.ring,

    async run(signal) {
      const lines = new Map<string, Line>();
      const working = new Set<Promise<unknown>>();

      function begin(at: Destination): void {
        const key = `${at.position} ${at.receiver}`;
        const line = lines.get(key);
        if (line) {
          line.wanted = true;
          line.bell.ring();
          return;
        }
        const fresh = newLine();
        lines.set(key, fresh);
        const done = work(at, fresh, clock.nowUs, signal).finally(() => {
          lines.delete(key);
          working.delete(done);
          // It may have been asked for more just after it last looked.
          if (fresh.wanted) bell.ring();
        });
        working.add(done);
      }

      while (!signal.aborted) {
        let waitMs = LONGEST_WAIT_MS;
        try {
          await recover();
          const nowUs = clock.nowUs();
          const { due, nextAtUs } = await store.transaction((tx) => tx.outbox.due(nowUs));
          due.forEach(begin);
          if (nextAtUs !== undefined) waitMs = Math.min(waitMs, (nextAtUs - nowUs) / 1000);
        } catch (error) {
          report({ what: 'trouble', stage: 'delivery', error });
          waitMs = STORE_PAUSE_MS;
        }
        await bell.wait(waitMs, signal);
      }
      await Promise.all(working);
    },

    async drain() {
      await recover();
      const dueUs = clock.nowUs();
      const failedBefore = failedTries;
      let isWorking = true;
      while (isWorking) {
        const { due } = await store.transaction((tx) => tx.outbox.due(dueUs));
        const worked = await Promise.all(due.map((at) => work(at, newLine(), () => dueUs)));
        isWorking = worked.includes(true);
      }
      return failedTries - failedBefore;
    },
  };
}

interface Destination {
  readonly receiver: string;
  readonly position: number;
}

/** The way into a `work` that is under way. */
interface Line {
  /** Rung when a try ended or something new is due. */
  readonly bell: ReturnType<typeof createBell>;
  wanted: boolean;
}

/**
 * The integration that a delivery was queued for. After a reload another kind may stand at its position (an email
 * added before a webhook moves it); then the receiver's first of the same kind has it.
 */
function integrationOf(
  receiver: Receiver | undefined,
  { position, integration: kind }: ClaimedDelivery['delivery'],
): Integration | undefined {
  const there = receiver?.integrations[position];
  return there?.kind === kind ? there : receiver?.integrations.find((one) => one.kind === kind);
}
