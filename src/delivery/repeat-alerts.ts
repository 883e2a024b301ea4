/**
 * Sends again what still fires to services where an alert ends by itself unless it is sent again, such as another
 * Alertmanager. What a group has notified of is repeated, nothing else; changes go the way of all deliveries. Nothing
 * of this is kept: a repetition that fails is made up for by the next one.
 */

import type { OpenChannel, OpenChannels } from '../channels/channel.ts';
import type { Integration, Receiver } from '../channels/receiver.ts';
import { NestwatchError } from '../errors.ts';
import type { Report } from '../report.ts';
import type { Store } from '../store/store.ts';
import { type Clock, sleep } from '../time/clock.ts';

/** Alerts of one request. */
const BATCH = 500;

interface Repeating {
  /** Runs until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export function createRepeating(options: {
  readonly store: Store;
  readonly receivers: readonly Receiver[];
  readonly channels: OpenChannels;
  readonly clock: Clock;
  readonly report: Report;
  readonly externalUrl: string;
}): Repeating {
  const { store, channels, clock, report, externalUrl } = options;
  const targets = options.receivers.flatMap(({ name, integrations }) =>
    integrations.flatMap((integration) => {
      const repeats = channels[integration.kind]?.repeats;
      return repeats ? [{ name, integration, repeats }] : [];
    }),
  );

  async function repeat({ name, integration, repeats }: Target, signal: AbortSignal): Promise<void> {
    let after = '';
    while (!signal.aborted) {
      const alerts = await store.transaction((tx) => tx.groups.notifiedFiring(name, after, BATCH));
      if (alerts.length > 0) {
        const outcome = await repeats.send(integration, alerts, externalUrl);
        if (outcome.kind !== 'accepted') {
          const why = 'error' in outcome ? outcome.error : outcome.kind;
          throw new NestwatchError(
            'reason' in outcome && outcome.reason !== 'bug' ? outcome.reason : 'rejected',
            `receiver ${name} was not notified again of what fires: ${why}`,
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
        targets.map(async (target) => {
          while (!signal.aborted) {
            await sleep(clock, target.repeats.everyMs, signal);
            if (signal.aborted) return;
            try {
              await repeat(target, signal);
            } catch (error) {
              report({ what: 'trouble', stage: 'delivery', error });
            }
          }
        }),
      );
    },
  };
}

interface Target {
  readonly name: string;
  readonly integration: Integration;
  readonly repeats: NonNullable<OpenChannel['repeats']>;
}
