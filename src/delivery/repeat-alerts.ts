/**
 * Tells other Alertmanagers again what still fires: there an alert ends by itself when it is not told again. What a
 * group told of is repeated, nothing else; changes go the way of all deliveries. Nothing of this is kept: a repetition
 * that fails is made up for by the next one.
 */

import { REPEAT_AFTER_US } from '../channels/alertmanager/alertmanager-push.ts';
import type { AlertmanagerChannel } from '../channels/services.ts';
import type { AlertmanagerIntegration, Receiver } from '../config/config.ts';
import { NestwatchError } from '../errors.ts';
import type { Report } from '../report.ts';
import type { Store } from '../store/store.ts';
import { type Clock, sleep } from '../time/clock.ts';

/** Alerts of one request. */
const BATCH = 500;

export interface Repeating {
  /** Runs until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export function createRepeating(options: {
  readonly store: Store;
  readonly receivers: readonly Receiver[];
  readonly channel: AlertmanagerChannel;
  readonly clock: Clock;
  readonly report: Report;
  readonly externalUrl: string;
}): Repeating {
  const { store, channel, clock, report, externalUrl } = options;
  const targets = options.receivers.flatMap(({ name, integrations }) =>
    integrations.flatMap((one) => (one.kind === 'alertmanager' ? [{ name, integration: one }] : [])),
  );

  async function repeat(name: string, integration: AlertmanagerIntegration, signal: AbortSignal) {
    let after = '';
    while (!signal.aborted) {
      const alerts = await store.transaction((tx) => tx.groups.notifiedFiring(name, after, BATCH));
      if (alerts.length > 0) {
        const outcome = await channel.repeat(integration, alerts, externalUrl);
        if (outcome.kind !== 'accepted') {
          const why = 'error' in outcome ? outcome.error : outcome.kind;
          throw new NestwatchError(
            'reason' in outcome && outcome.reason !== 'bug' ? outcome.reason : 'rejected',
            `receiver ${name} was not told again what fires: ${why}`,
          );
        }
      }
      if (alerts.length < BATCH) return;
      after = alerts.at(-1)!.id;
    }
  }

  return {
    async run(signal) {
      await Promise.all(
        targets.map(async ({ name, integration }) => {
          while (!signal.aborted) {
            await sleep(clock, REPEAT_AFTER_US / 1000, signal);
            if (signal.aborted) return;
            try {
              await repeat(name, integration, signal);
            } catch (error) {
              report({ what: 'trouble', stage: 'delivery', error });
            }
          }
        }),
      );
    },
  };
}
