/**
 * Asks a region's service to start Birds again (`domain/action/action.ts`), each wish with one request. Only the process
 * that reads the region does this, through the store that it owns: of several replicas, one takes a wish.
 *
 * Stops here: everything that the service answers to `flyBird`. It becomes an outcome with a reason for people.
 */
import {
  type Action,
  type ActionOutcome,
  sayAction,
  WISH_LASTS_US,
  wantedBy,
} from '../domain/action/action.ts';
import type { Event } from '../domain/alert/event.ts';
import { codeOf, isStoreFailure, NestwatchError } from '../errors.ts';
import { dayAndSecond } from '../text/instant-words.ts';
import { plainText } from '../text/plain-text.ts';
import { sleep } from '../time/clock.ts';
import { formatInstant } from '../time/instant.ts';
import { flightsName, type IntakeParts } from './parts.ts';
import type { Schedule } from './schedule/schedule.ts';

interface FlyingOptions extends Pick<IntakeParts, 'region' | 'store' | 'commit' | 'clock' | 'report'> {
  readonly client: Pick<IntakeParts['client'], 'call' | 'health' | 'pausedMs'>;
  readonly schedule: Pick<Schedule, 'hint'>;
  /** False if only what is open is to end: then nothing is asked of the service. */
  readonly mayFly: boolean;
  /** Rings the bell of the schedule. */
  readonly hinted: () => void;
  readonly flightsReadUs: (birdId: string) => number | undefined;
  /** How far the service's clock is ahead of ours. */
  readonly aheadUs: () => number;
}

/** How often wishes, and the Flights that started by them, are looked for in the store. */
const LOOK_MS = 2_000;
const STORE_PAUSE_MS = 5_000;

/** The service's clock is known to the second, from two answers. */
const CLOCK_MARGIN_US = 2_000_000;
/** The new Flight starts within this time after it was asked for. */
const STARTS_WITHIN_US = 120_000_000;
/** Flights may become visible this much later than they started. */
const LATE_US = 30_000_000;
/** A Bird whose Flights cannot be read for this long is not waited for. */
const SEEKS_AT_MOST_US = 900_000_000;

/** With these errors the service did not do it, or nothing was sent. With any other it may have. */
const NOT_DONE: ReadonlySet<string> = new Set([
  ...['bad_request', 'not_found', 'unauthorized', 'forbidden', 'rate_limited'],
  ...['circuit_open', 'cancelled', 'secret_unreadable', 'usage'],
]);

const REASON_CODE_POINTS = 300;

type Settled = Pick<Action, 'state' | 'reason'> & { readonly state: 'done' | 'refused' | 'unknown' };

const LOST: Settled = {
  state: 'unknown',
  reason: 'nestwatch stopped, or lost its store, before it noted the answer',
};

export function createFlying(options: FlyingOptions) {
  const { region, mayFly, client, store, commit, clock, report } = options;
  const { schedule, hinted, flightsReadUs, aheadUs } = options;

  const readOpen = () => store.transaction((tx) => tx.actions.open(region));

  async function turn(signal: AbortSignal): Promise<void> {
    const open = await readOpen();
    // Of a turn before, or of a process before, which may have asked.
    for (const action of open.filter(({ state }) => state === 'asked')) await settle(action, LOST, signal);
    const asking = await Promise.allSettled(
      open.filter(({ state }) => state === 'wanted').map((one) => fly(one, signal)),
    );
    const failed = asking.find((one) => one.status === 'rejected');
    // Not before all have ended: the next turn would ask for the others again.
    if (failed) throw failed.reason;
    const seeking = (await readOpen()).filter(({ seeks }) => seeks !== undefined);
    for (const action of seeking) await seek(action);
  }

  async function fly(wanted: Action, signal: AbortSignal): Promise<void> {
    const nowUs = clock.nowUs();
    const { health, reason } = client.health();
    const refuse = (why: string) => settle(wanted, { state: 'refused', reason: why }, signal);
    if (!mayFly) return refuse('The region may not start Birds any more.');
    if (nowUs - wanted.wantedAtUs > WISH_LASTS_US)
      return refuse('It could not be asked for within 2 minutes.');
    if (health !== 'up')
      return refuse(
        `The service does not answer now, so it was not asked: ${plainText(reason, REASON_CODE_POINTS)}`,
      );
    // It would be asked for at the end of the pause, when nobody expects it any more.
    if (client.pausedMs() > 0) return;
    const { birdId } = wanted;
    const [last] = await store.transaction((tx) => tx.birds.latestFlights(region, birdId, 1));
    const atServiceUs = nowUs + aheadUs();
    const afterUs = Math.max(last?.startedAtUs ?? 0, atServiceUs - CLOCK_MARGIN_US);
    const seeks = { afterUs, untilUs: atServiceUs + STARTS_WITHIN_US };
    const asked: Action = { ...wanted, state: 'asked', askedAtUs: nowUs, seeks };
    // From here on nobody asks for it again, whatever happens.
    await commit({ region, actions: [asked], noticed: [eventOf(asked, 'asked')] });
    await settle(asked, await ask(asked), signal);
    schedule.hint(flightsName(birdId), clock.monotonicMs());
    hinted();
  }

  async function ask({ nestId, birdId }: Action): Promise<Settled> {
    try {
      const { body } = await client.call('flyBird', { nestId, birdId });
      // As of a proxy that asks for a login: nobody knows whether the service was reached.
      return /^\s*</.test(body)
        ? { state: 'unknown', reason: 'a page for people answered instead of the service' }
        : { state: 'done', reason: '' };
    } catch (error) {
      const code = codeOf(error);
      if (code === 'bug') report({ what: 'trouble', stage: 'intake', region, error });
      return NOT_DONE.has(code)
        ? { state: 'refused', reason: reasonOf(error) }
        : { state: 'unknown', reason: unknownWords(error) };
    }
  }

  /**
   * A refusal is told at once; the others together with the new Flight. While the store refuses, this tries again, until
   * `signal` aborts: then whoever reads the region next finds that it was asked for.
   */
  async function settle(action: Action, settled: Settled, signal: AbortSignal): Promise<void> {
    const { seeks, ...rest } = action;
    const isSought = seeks !== undefined && settled.state !== 'refused';
    const next: Action = { ...rest, ...(isSought && { seeks }), ...settled, settledAtUs: clock.nowUs() };
    const noticed = isSought ? [] : [eventOf(next, settled.state)];
    for (;;) {
      try {
        await commit({ region, actions: [next], noticed });
        break;
      } catch (error) {
        if (!isStoreFailure(error) || signal.aborted) throw error;
        report({ what: 'trouble', stage: 'intake', region, error });
        await sleep(clock, STORE_PAUSE_MS, signal);
      }
    }
    report({ what: 'action', region, action: action.name, outcome: settled.state, id: action.id });
  }

  async function seek(action: Action): Promise<void> {
    const { seeks, ...rest } = action;
    if (!seeks || (action.state !== 'done' && action.state !== 'unknown')) return;
    const { birdId, askedAtUs, state } = action;
    const next = await store.transaction((tx) => tx.birds.nextFlight(region, birdId, seeks.afterUs));
    const isFound = next !== undefined && next.startedAtUs <= seeks.untilUs;
    const endUs = askedAtUs + STARTS_WITHIN_US + LATE_US;
    const isVain = (flightsReadUs(birdId) ?? 0) > endUs || clock.nowUs() > askedAtUs + SEEKS_AT_MOST_US;
    if (!isFound && !isVain) return;
    const newFlight = isFound && { flightId: next.flightId, startedAtUs: next.startedAtUs };
    const found: Action = { ...rest, ...(newFlight && { newFlight }) };
    await commit({ region, actions: [found], noticed: [eventOf(found, state)] });
  }

  return {
    /** Runs until `signal` aborts. A request under way is finished first. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        let waitMs = LOOK_MS;
        try {
          await turn(signal);
        } catch (error) {
          report({ what: 'trouble', stage: 'intake', region, error });
          waitMs = STORE_PAUSE_MS;
        }
        await sleep(clock, waitMs, signal);
      }
    },
  };
}

/** The event that says what has just become of an action. */
function eventOf(action: Action, what: 'asked' | ActionOutcome): Event {
  const { id, region, nestId, nest, birdId, bird, name, newFlight, failedFlightId } = action;
  // What it says stays true when the service has answered.
  const said: Action = what === 'asked' ? { ...action, state: 'wanted' } : action;
  const occurredAtUs = what === 'asked' ? action.askedAtUs : action.settledAtUs;
  return {
    ...{ key: `${region}/action/${id}/${what}`, region, feed: 'action', type: `action.${what}` },
    ...{ occurredAt: formatInstant(occurredAtUs), occurredAtUs, observedAtUs: occurredAtUs },
    ...{ nestId, nest, birdId, bird, message: sayAction(said, dayAndSecond) },
    attributes: {
      ...{ action: name, action_id: id, initiator: wantedBy(action) },
      ...(action.rule !== '' && { rule: action.rule }),
      ...(action.comment !== '' && { comment: action.comment }),
      ...(action.reason !== '' && { reason: action.reason }),
      ...(failedFlightId !== '' && { failed_flight_id: failedFlightId }),
      ...(newFlight && { flight_id: newFlight.flightId, started_at: formatInstant(newFlight.startedAtUs) }),
    },
  };
}

/** The service's own words, if it gave any. */
function reasonOf(error: unknown): string {
  if (!(error instanceof NestwatchError)) return 'an unforeseen error; the log has it';
  const { detail, title } = error.facts.problem ?? {};
  const said = [detail, title].find((one) => typeof one === 'string' && one !== '');
  const clean = plainText(String(said ?? error.message), REASON_CODE_POINTS);
  return said === undefined ? clean : `The service refused: ${clean}`;
}

function unknownWords(error: unknown): string {
  const status = error instanceof NestwatchError ? error.facts.status : undefined;
  return status === undefined ? 'the service did not answer' : `the service answered ${status}`;
}
