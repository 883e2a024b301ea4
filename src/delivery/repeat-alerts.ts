/**
 * Repeats what still fires to services that resolve an alert by themselves unless it is sent again, such as another
 * Alertmanager. Only what a group has notified of is repeated; changes are ordinary deliveries. Repeats are not stored:
 * one that fails is made up for by the next. If round after round fails, the alerts resolve there although they fire.
 * Then the integration is reported as set aside.
 */

import type { OpenChannel, OpenChannels, Outcome, RepeatedAlert } from '../channels/channel.ts';
import type { Integration, Receiver } from '../channels/receiver.ts';
import { faultOf } from '../domain/alert/fault.ts';
import { NestwatchError } from '../errors.ts';
import type { Report } from '../report.ts';
import type { Store } from '../store/store.ts';
import { type Clock, sleep } from '../time/clock.ts';

/** Alerts of one request. */
const BATCH = 500;
/** Further requests of one round, for halves of what was refused. */
const MOST_HALVES = 32;
/** A round ends after this many requests without an answer. */
const MOST_UNANSWERED = 3;
/** After so many failed rounds in a row it is reported: the service resolves an alert after four. */
const SAID_AFTER = 3;

/**
 * When the last round to each integration began, and how many failed in a row. Kept from one configuration to the next.
 */
export type Rounds = Map<string, { readonly beganMs: number; readonly failed: number }>;

export function createRepeating(options: {
  readonly store: Store;
  readonly receivers: readonly Receiver[];
  readonly channels: OpenChannels;
  readonly clock: Clock;
  readonly report: Report;
  readonly externalUrl: string;
  readonly rounds?: Rounds;
}) {
  const { store, channels, clock, report, externalUrl, rounds = new Map() } = options;
  const targets = options.receivers.flatMap(({ name, integrations }) =>
    integrations.flatMap((integration, position) => {
      const repeats = channels[integration.kind]?.repeats;
      const key = `${name} (${position}), which is to hear again what fires`;
      return repeats ? [{ name, key, integration, repeats }] : [];
    }),
  );

  /** Sends one round. Tries everything that it may, then rejects if not all was accepted. */
  async function repeat(target: Target, signal: AbortSignal): Promise<void> {
    const failures: Failure[] = [];
    const round = { halves: MOST_HALVES, unanswered: 0, failures };
    let after = '';
    while (!signal.aborted && round.unanswered < MOST_UNANSWERED) {
      const alerts = await store.transaction((tx) => tx.groups.notifiedFiring(target.name, after, BATCH));
      if (alerts.length > 0) await send(target, alerts, round);
      if (alerts.length < BATCH) break;
      after = alerts.at(-1)!.id;
    }
    const [first] = failures;
    if (!first) return;
    const reason = first.kind === 'nothing' || first.reason === 'bug' ? 'rejected' : first.reason;
    const why = first.kind === 'nothing' ? first.why : first.error;
    throw new NestwatchError(reason, `receiver ${target.name} was not notified again of what fires: ${why}`);
  }

  /**
   * Sends alerts, in halves if they are refused: one alert, or the size of all, must not keep the others from being
   * repeated.
   */
  async function send(target: Target, alerts: readonly RepeatedAlert[], round: Round): Promise<void> {
    const outcome = await target.repeats.send(target.integration, alerts, externalUrl);
    if (outcome.kind === 'accepted') return;
    const isRefused =
      outcome.kind === 'refused' || (outcome.kind === 'failed' && outcome.reason === 'unavailable');
    if (!isRefused) round.unanswered += 1;
    if (!isRefused || alerts.length === 1 || round.halves < 2) {
      round.failures.push(outcome);
      return;
    }
    round.halves -= 2;
    const middle = Math.ceil(alerts.length / 2);
    await send(target, alerts.slice(0, middle), round);
    await send(target, alerts.slice(middle), round);
  }

  /** Records whether the rounds to an integration fail, for the health of the watch. */
  async function note({ key }: Target, failed: number, error: unknown): Promise<void> {
    const fresh = await store.transaction(async (tx) => {
      if (failed >= SAID_AFTER) return tx.faults.note([faultOf('receiver', key, error)], clock.nowUs());
      await tx.faults.mend('receiver', [key]);
      return [];
    });
    for (const fault of fresh) report({ what: 'set_aside', ...fault });
  }

  async function runRound(target: Target, signal: AbortSignal): Promise<void> {
    const before = rounds.get(target.key)?.failed ?? 0;
    const beganMs = clock.monotonicMs();
    rounds.set(target.key, { beganMs, failed: before });
    try {
      await repeat(target, signal);
      rounds.set(target.key, { beganMs, failed: 0 });
      if (before >= SAID_AFTER) await note(target, 0, undefined);
    } catch (error) {
      const failed = before + 1;
      rounds.set(target.key, { beganMs, failed });
      report({ what: 'trouble', stage: 'delivery', error });
      if (failed >= SAID_AFTER) await note(target, failed, error);
    }
  }

  return {
    /** Runs until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      await Promise.all(
        targets.map(async (target) => {
          const { key, repeats } = target;
          // The first round comes a while after the start. A new configuration does not delay the next.
          if (!rounds.has(key)) rounds.set(key, { beganMs: clock.monotonicMs(), failed: 0 });
          while (!signal.aborted) {
            await sleep(clock, rounds.get(key)!.beganMs + repeats.everyMs - clock.monotonicMs(), signal);
            if (signal.aborted) return;
            try {
              await runRound(target, signal);
            } catch (error) {
              report({ what: 'trouble', stage: 'delivery', error });
            }
          }
        }),
      );
    },
  };
}

type Failure = Exclude<Outcome, { readonly kind: 'accepted' }>;

interface Round {
  /** Requests that are left for halves. */
  halves: number;
  unanswered: number;
  readonly failures: Failure[];
}

interface Target {
  readonly name: string;
  /** Its name in `rounds`, in faults and to people. */
  readonly key: string;
  readonly integration: Integration;
  readonly repeats: NonNullable<OpenChannel['repeats']>;
}
