/**
 * Calls an outside watchdog at intervals. The watchdog alarms people when the calls stop: because this process, its
 * machine or its network is gone, or because something impairs the watch gravely. What stops here: the watchdog's
 * address, which is a secret.
 */

import { NestwatchError } from '../errors.ts';
import type { Transport } from '../http/transport.ts';
import type { Report } from '../report.ts';
import type { Secret } from '../secret.ts';
import { plainText } from '../text/plain-text.ts';
import { type Clock, sleep } from '../time/clock.ts';

interface HeartbeatOptions {
  /** The address is a secret: whoever knows it can keep the watchdog quiet. */
  readonly config: { readonly url: Secret; readonly intervalMs: number };
  /** What impairs the watch, the gravest first. */
  readonly impairments: () => Promise<
    readonly { readonly title: string; readonly stopsHeartbeat: boolean }[]
  >;
  /** Must itself end an exchange after `HEARTBEAT_TIMEOUT_MS`. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly report: Report;
}

export const HEARTBEAT_TIMEOUT_MS = 10_000;

const MAX_REASON_CODE_POINTS = 200;

export function createHeartbeat(options: HeartbeatOptions) {
  const { config, impairments, transport, clock, report } = options;

  async function beat(): Promise<void> {
    const grave = (await impairments()).find(({ stopsHeartbeat }) => stopsHeartbeat);
    if (grave) {
      report({ what: 'heartbeat', outcome: 'silent', reason: grave.title, atUs: clock.nowUs() });
      return;
    }
    const reason = await call();
    const outcome = reason === '' ? 'sent' : 'failed';
    report({ what: 'heartbeat', outcome, reason, atUs: clock.nowUs() });
  }

  /** Why the watchdog did not accept the call; empty if it did. */
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
    /** Runs until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
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
