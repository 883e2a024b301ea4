/**
 * Calls an outside watchdog again and again, which alarms people when the calls stay out: as they do when this process,
 * its machine or its network is gone, and also when the watch is not worth much, because a region is not fresh or no
 * receiver takes what it is sent. What stops here: the watchdog's address, which is a secret.
 */

import type { Receiver } from '../channels/receiver.ts';
import { takesAlerts } from '../channels/traits.ts';
import { NestwatchError } from '../errors.ts';
import type { Transport } from '../http/transport.ts';
import type { Report } from '../report.ts';
import type { Secret } from '../secret.ts';
import type { Store } from '../store/store.ts';
import { plainText } from '../text/plain-text.ts';
import { type Clock, sleep } from '../time/clock.ts';

/** A region as its polls left it. */
export interface WatchedRegion {
  readonly region: string;
  readonly isUp: boolean;
  /** True once it was read in this life. */
  readonly started: boolean;
  /** The feeds that have something to poll, with when a poll of each last succeeded; 0 for never. */
  readonly feeds: readonly { readonly feed: string; readonly lastSuccessUs: number }[];
}

interface Heartbeat {
  /** Runs until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

interface HeartbeatOptions {
  /** The address is a secret: who knows it can keep the watchdog quiet. */
  readonly config: { readonly url: Secret; readonly intervalMs: number };
  readonly receivers: readonly Receiver[];
  readonly regions: () => readonly WatchedRegion[];
  /** A feed of which no poll succeeded for longer is not fresh. */
  readonly freshForMs: number;
  readonly store: Store;
  /** Ends an exchange after `HEARTBEAT_TIMEOUT_MS` by itself. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly report: Report;
}

export const HEARTBEAT_TIMEOUT_MS = 10_000;

const MAX_REASON_CODE_POINTS = 200;

export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { config, transport, clock, report } = options;

  async function beat(): Promise<void> {
    const why = whyStale(options) ?? (await whyUnheard(options));
    if (why !== undefined) {
      report({ what: 'heartbeat', outcome: 'silent', reason: why, atUs: clock.nowUs() });
      return;
    }
    const reason = await call();
    const outcome = reason === '' ? 'sent' : 'failed';
    report({ what: 'heartbeat', outcome, reason, atUs: clock.nowUs() });
  }

  /** Why the watchdog did not accept the call; empty when it did. */
  async function call(): Promise<string> {
    try {
      const { status } = await transport.send({ method: 'GET', url: config.url.reveal(), headers: {} });
      return status >= 200 && status < 300 ? '' : `it answered ${status}`;
    } catch (error) {
      if (!(error instanceof NestwatchError)) throw error;
      return plainText(error.message, MAX_REASON_CODE_POINTS);
    }
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        try {
          await beat();
        } catch (error) {
          report({ what: 'trouble', stage: 'delivery', error });
        }
        await sleep(clock, config.intervalMs, signal);
      }
    },
  };
}

/** Which region is not fresh, in words; undefined when all are. */
function whyStale({ regions, freshForMs, clock }: HeartbeatOptions): string | undefined {
  const nowUs = clock.nowUs();
  for (const { region, isUp, started, feeds } of regions()) {
    if (!isUp) return `region ${region} does not answer`;
    if (!started) return `region ${region} has not been read yet`;
    const stale = feeds.find(({ lastSuccessUs }) => nowUs - lastSuccessUs > freshForMs * 1000);
    if (stale) return `feed ${stale.feed} of region ${region} was not read for too long`;
  }
  return undefined;
}

/** Of the receivers that take alerts and were tried at all, one must have all its integrations accept. */
async function whyUnheard({ store, receivers }: HeartbeatOptions): Promise<string | undefined> {
  const { failing, counts } = await store.transaction(async (tx) => ({
    failing: await tx.outbox.failingIntegrations(),
    counts: await tx.outbox.count(),
  }));
  const tried = receivers.filter(
    (one) =>
      takesAlerts(one) &&
      (failing.some(({ receiver }) => receiver === one.name) ||
        counts.some(
          ({ receiver, state, count }) => receiver === one.name && state === 'delivered' && count > 0,
        )),
  );
  const works = tried.some(({ name }) => !failing.some(({ receiver }) => receiver === name));
  return tried.length === 0 || works ? undefined : 'no receiver accepts what it is sent';
}
