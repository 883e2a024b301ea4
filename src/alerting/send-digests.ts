/**
 * Makes digests when their cron expressions say so. The store keeps how far each digest has come, so that one which was
 * due while no process ran is made once afterwards, for all the time since the last.
 *
 * The first digest covers one period of its expression, or all the time since it was first configured if that is
 * longer.
 *
 * Each event is counted by exactly one digest of a name: which events are new follows from the order in which they
 * arrived, not from when they occurred. History that arrives much later, as from an audit of the whole retention, is
 * left out. A deadline that is judged only after its digest is counted by the next.
 *
 * The material is read in many short transactions, so that no other stage waits for it. The last transaction queues the
 * notification and records how far the digest has come, both or neither.
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import type { Integration, Receiver } from '../channels/receiver.ts';
import type { Config } from '../config/config.ts';
import type { DigestConfig } from '../config/sections/digests-section.ts';
import type { Guard } from '../domain/action/action.ts';
import { hash64, type Labels } from '../domain/alert/alert.ts';
import { type Acted, type Digest, digestOf, isEmpty, type UnusualBird } from '../domain/digest/digest.ts';
import { createFlightTally, type EndedFlight, type FlightTally } from '../domain/digest/flight-tally.ts';
import {
  countsOnly,
  type ReportTables,
  type SentReport,
  withoutIds,
} from '../domain/digest/report-figures.ts';
import { memberRecipients } from '../domain/grouping/member-recipients.ts';
import type { DigestNotification } from '../domain/grouping/notification.ts';
import { isMoment } from '../domain/kinds/kinds.ts';
import { createMuting } from '../domain/muting/muting.ts';
import { createRecurrences } from '../domain/muting/silence.ts';
import type { Report } from '../report.ts';
import { type Month, readMonth, reportOf } from '../store/month-report.ts';
import { countDeadlines, type DeadlineConfig, unusualFlights } from '../store/read-history.ts';
import type { DigestRecord, UnjudgedBirds } from '../store/sql/alerted/digests.ts';
import type { Store, Transaction } from '../store/store.ts';
import { exactZoneTime } from '../text/instant-words.ts';
import { type Clock, pausing, sleep } from '../time/clock.ts';
import { type Cron, createCron } from '../time/cron.ts';
import type { Period } from '../time/zone-format.ts';
import { destinationsOf, newDelivery, queue } from './destination.ts';

interface DigestsOptions {
  readonly store: Store;
  readonly config: Pick<Config, 'digests' | 'receivers' | 'objectives'> & {
    readonly regions?: readonly Pick<Config['regions'][number], 'name' | 'fly'>[];
  } & DeadlineConfig;
  readonly clock: Clock;
  readonly report: Report;
  /** How far each region is known to be complete; 0 if not known yet. */
  readonly regions: () => readonly { readonly region: string; readonly verifiedUntilUs: number }[];
  /** Called after a commit that queued deliveries. */
  readonly queued: () => void;
}

const MINUTE_US = 60_000_000;
const DAY_US = 86_400_000_000;
/** After a start a late digest waits this long, while intake reads what happened in the meantime. */
const CATCH_UP_MS = 300_000;
/** Events that occurred longer than this before the period are left out. */
const LATE_US = 86_400_000_000;
/** Event numbers that one transaction covers. */
const STRETCH = 2_000;
/** The most that is loaded. */
const MAX_ALERTS = 1_000;
const MAX_EPISODES = 10_000;
/** Birds that are asked about, at most. */
const MAX_ASKED = 200;

const EVENT_LOOP = { pause: () => turnOfEventLoop() };

/** The work of counting a Flight: finding its error's signature looks at each character of the message many times. */
function countingWork({ message }: EndedFlight): number {
  return 5 + message.length / 20;
}

const MUTED_BY_NOTHING_ELSE = { inhibitRules: [], firing: [], timeIntervals: new Map() };

/** A configured digest with its parsed cron expression. */
type TimedDigest = DigestConfig & { readonly instants: Cron };

export function createDigests(options: DigestsOptions) {
  return new DigestLoop(options);
}

class DigestLoop {
  readonly #options: DigestsOptions;
  readonly #digests: readonly TimedDigest[];
  readonly #receivers: ReadonlyMap<string, Receiver>;
  readonly #recurrences = createRecurrences();
  /** When `run` was called. */
  #beganMs: number | undefined;

  constructor(options: DigestsOptions) {
    const { digests, receivers } = options.config;
    this.#options = options;
    this.#digests = digests.map((one) => ({ ...one, instants: createCron(one.cron, one.timezone) }));
    this.#receivers = new Map(receivers.map((receiver) => [receiver.name, receiver]));
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, report } = this.#options;
    if (this.#digests.length === 0) return;
    this.#beganMs = clock.monotonicMs();
    while (!signal.aborted) {
      const nowUs = clock.nowUs();
      for (const digest of this.#digests) {
        try {
          await this.#look(digest);
        } catch (error) {
          report({ what: 'trouble', stage: 'alerting', error });
        }
      }
      // Waits until the full minute after it has looked, when a digest may be due. If the clock is set, no digest is
      // later by more than that.
      const waitUs = nowUs - (nowUs % MINUTE_US) + MINUTE_US - clock.nowUs();
      await sleep(clock, Math.ceil(Math.min(Math.max(0, waitUs), MINUTE_US) / 1000), signal);
    }
  }

  /** Makes the digest if it is due. */
  async #look(digest: TimedDigest): Promise<void> {
    const nowUs = this.#options.clock.nowUs();
    const known = await this.#options.store.transaction(async (tx) => {
      const found = await tx.digests.find(digest.name);
      // After our clock was set back, the next digest must not wait for the old time.
      if (found && found.lastUs <= nowUs) return found;
      const begun = { ...found, name: digest.name, lastUs: nowUs };
      await tx.digests.put(begun);
      return begun;
    });
    const dueUs = digest.instants.latest(known.lastUs, nowUs);
    if (dueUs === undefined) return;
    const isLate = nowUs - dueUs >= MINUTE_US;
    if (isLate && this.#options.clock.monotonicMs() - (this.#beganMs ?? 0) < CATCH_UP_MS) return;
    const toUs = isLate ? nowUs : dueUs;
    if (digest.report) await this.#makeReports(digest, digest.report, dueUs, toUs);
    else await this.#make(digest, known, dueUs, toUs);
  }

  /** Queues the digest and records how far it has come, both or neither. */
  async #make(config: TimedDigest, known: DigestRecord, dueUs: number, toUs: number): Promise<void> {
    const before = known.lastEvent === undefined ? config.instants.latest(0, dueUs - MINUTE_US) : undefined;
    const fromUs = Math.min(known.lastUs, before ?? known.lastUs);
    const groupKey = `digest:${config.name}`;
    const { digest, lastEvent, unjudged } = await this.#collect(config, known, fromUs, toUs);
    const queued = await this.#options.store.transaction(async (tx) => {
      await tx.digests.put({ name: config.name, lastUs: toUs, lastEvent, unjudged });
      if (config.skipEmpty && isEmpty(digest)) return undefined;
      const notification = notificationOf(config, digest, dueUs, this.#options.clock.nowUs());
      const receiver = this.#receivers.get(config.receiver);
      const { id, createdAtUs } = notification;
      const own = { id, receiver: config.receiver, groupKey };
      const integrations = receiver?.integrations ?? [];
      const deliveries = destinationsOf(integrations).map((destination) =>
        newDelivery(own, destination, createdAtUs),
      );
      await queue(tx, notification, integrations, deliveries);
      return deliveries.length;
    });
    if (queued === undefined) return;
    this.#options.report({
      what: 'notified',
      receiver: config.receiver,
      groupKey,
      reason: 'digest',
      alerts: digest.openTotal,
    });
    if (queued > 0) this.#options.queued();
  }

  /**
   * Queues the report of the month in which the day before lies, or one for each Nest, and records that it is made: all
   * or none.
   */
  async #makeReports(
    { name, receiver, timezone, skipEmpty }: TimedDigest,
    report: ReportSettings,
    dueUs: number,
    toUs: number,
  ): Promise<void> {
    const { store, clock, config } = this.#options;
    const nowUs = clock.nowUs();
    const month = exactZoneTime(dueUs - DAY_US, timezone).slice(0, '2026-11'.length);
    const read = await readMonth(store, {
      ...{ month, zone: timezone, config, nestId: undefined, nowUs },
      regions: this.#options.regions().map((one) => one.region),
    });
    // Nothing is known of a month before the first start.
    const about = read.month.name !== month ? [] : report.isForEachNest ? read.nests : [{ labels: {} }];
    const sent: { readonly nest: Labels; readonly digest: SentReport }[] = [];
    for (const { labels: nest } of about) {
      const { tables } = await reportOf(store, read, nest);
      if (skipEmpty && tables.month[0]?.figures.flights === 0) continue;
      sent.push({ nest, digest: sentReport(name, report, nest, tables, read) });
    }
    const integrations = this.#receivers.get(receiver)?.integrations ?? [];
    const queued = await store.transaction(async (tx) => {
      await tx.digests.put({ name, lastUs: toUs });
      let deliveries = 0;
      for (const { nest, digest } of sent) {
        const { region = '', nest_id: nestId = '' } = nest;
        const members = report.isToMembers ? await membersOf(tx, region, nestId) : {};
        const id = `digest-${hash64([name, receiver, String(digest.fromUs), String(dueUs), region, nestId])}`;
        // Our clock was set back to before its instant.
        if (await tx.outbox.hasIdsOf(id)) continue;
        const own = { kind: 'digest', id, receiver, createdAtUs: nowUs, digest, timezone } as const;
        deliveries += await queueReport(tx, { ...own, ...members }, integrations);
      }
      return deliveries;
    });
    if (queued === 0) return;
    const groupKey = `digest:${name}`;
    this.#options.report({ what: 'notified', receiver, groupKey, reason: 'digest', alerts: 0 });
    this.#options.queued();
  }

  /** Reads the digest's material, in short transactions. */
  async #collect(
    { name, receiver, timezone }: DigestConfig,
    known: DigestRecord,
    fromUs: number,
    toUs: number,
  ): Promise<{ digest: Digest; lastEvent: number; unjudged: UnjudgedBirds }> {
    const tally = createFlightTally();
    const beforeUs = fromUs - (toUs - fromUs);
    const { start, newest, firstNew } = await this.#options.store.transaction(async (tx) => {
      const before = await tx.digests.arrivals(beforeUs);
      const from = known.lastEvent ?? (await tx.digests.arrivals(fromUs)).before;
      return { start: Math.min(before.before, from), newest: before.last, firstNew: from };
    });
    const pauseAfter = pausing(EVENT_LOOP);
    const earliestUs = known.lastEvent === undefined ? fromUs : fromUs - LATE_US;
    const lateUs = new Set<number>();
    for (let at = start; at < newest; at += STRETCH) {
      const upTo = Math.min(at + STRETCH, newest);
      const { flights, late } = await this.#options.store.transaction(async (tx) => ({
        flights: await tx.digests.endedFlights(at, upTo),
        late:
          upTo > firstNew
            ? await tx.digests.lateInstants(firstNew, [Math.max(at, firstNew), upTo], earliestUs, fromUs)
            : [],
      }));
      for (const us of late) lateUs.add(us);
      for (const flight of flights) {
        const isNew = flight.number > firstNew && flight.occurredAtUs >= earliestUs;
        const isOfPeriodBefore = flight.occurredAtUs >= beforeUs && flight.occurredAtUs < fromUs;
        if (!isNew && !isOfPeriodBefore) continue;
        tally.add(flight, isNew);
        await pauseAfter(countingWork(flight));
      }
    }
    const episodes = await this.#options.store.transaction((tx) =>
      tx.digests.episodes(fromUs, toUs, MAX_EPISODES),
    );
    const unusual = await this.#unusual(timezone, tally.differing(MAX_ASKED), fromUs, toUs);
    const rest = await this.#options.store.transaction(async (tx) => ({
      ...(await this.#firingNow(tx)),
      endedSilenced: await tx.digests.endedSilenced(fromUs, toUs, MAX_ALERTS),
      firingTotal: (await tx.alerts.count())
        .filter((one) => one.state === 'firing' && !isMoment(one))
        .reduce((sum, { count }) => sum + count, 0),
      acted: await this.#acted(tx, fromUs, toUs, (event) => event > firstNew && event <= newest),
      suppressed: await tx.digests.countSuppressed(receiver, fromUs, toUs),
      dead: await tx.digests.countDead(receiver, fromUs, toUs),
    }));
    const regions = this.#options.regions();
    const { store, config, clock } = this.#options;
    const span = { fromUs, untilUs: toUs };
    const { counted, unjudged } = await countDeadlines(store, config, span, clock.nowUs(), known.unjudged);
    const deadlines = counted.map(({ place, ...outcomes }) => ({
      ...{ region: place.region, nest: place.nest, bird: place.bird || place.birdId },
      ...outcomes,
    }));
    return {
      digest: digestOf({ name, fromUs, toUs, tally, lateUs, episodes, regions, deadlines, unusual, ...rest }),
      lastEvent: newest,
      unjudged,
    };
  }

  /**
   * What rules did within the period: each start, each reason against one, and each success counts when it came. A success
   * comes when it is read, with an event that is new.
   */
  async #acted(
    tx: Transaction,
    fromUs: number,
    toUs: number,
    isNew: (event: number) => boolean,
  ): Promise<Acted | undefined> {
    const isWithin = (us: number) => us > fromUs && us <= toUs;
    const withheld: Partial<Record<Guard, number>> = {};
    let [flown, healed] = [0, 0];
    for (const { name } of this.#options.config.regions ?? []) {
      for (const action of await tx.actions.since(name, fromUs - DAY_US)) {
        const { rule, guard, askedAtUs, settledAtUs, newFlight } = action;
        if (rule === '') continue;
        if (isWithin(askedAtUs)) flown += 1;
        if (guard && isWithin(settledAtUs)) withheld[guard] = (withheld[guard] ?? 0) + 1;
        const flight = newFlight && (await tx.birds.findFlight(name, newFlight.flightId));
        if (flight?.status !== 'succeeded') continue;
        const event = await tx.events.numberOfKey(`${name}/flight/${flight.flightId}/succeeded`);
        if (event !== undefined && isNew(event)) healed += 1;
      }
    }
    return flown + healed + Object.keys(withheld).length > 0 ? { flown, healed, withheld } : undefined;
  }

  /** What is unusual about these Birds, one after another. */
  async #unusual(
    timezone: string,
    birds: ReturnType<FlightTally['differing']>,
    fromUs: number,
    toUs: number,
  ): Promise<UnusualBird[]> {
    const { rules, timeIntervals } = this.#options.config;
    const found: UnusualBird[] = [];
    for (const { birdId, ...place } of birds) {
      const all = await this.#options.store.transaction((tx) =>
        unusualFlights(tx, { ...place, birdId }, { rules, timeIntervals, timezone }, fromUs, toUs),
      );
      for (const { sort, text } of all) if (sort !== 'unjudged') found.push({ ...place, sort, text });
    }
    return found;
  }

  /** The firing alerts, and which of them are silenced or acknowledged. */
  async #firingNow(tx: Transaction) {
    const nowUs = this.#options.clock.nowUs();
    const firing = await tx.alerts.firing(undefined, MAX_ALERTS);
    const silences = await tx.silences.list(nowUs);
    const pauseAfter = pausing(tx);
    const options = { ...MUTED_BY_NOTHING_ELSE, silences, recurrences: this.#recurrences, nowUs };
    const muting = await createMuting(options, pauseAfter);
    const hidden = new Map<string, 'acknowledged' | 'silenced'>();
    for (const alert of firing) {
      const { silencedBy } = await muting.of(alert, pauseAfter);
      const isAcknowledged = silencedBy.some(({ alertId }) => alertId !== null);
      if (silencedBy.length > 0) hidden.set(alert.id, isAcknowledged ? 'acknowledged' : 'silenced');
    }
    return { firing, hidden };
  }
}

type ReportSettings = NonNullable<DigestConfig['report']>;

function sentReport(
  name: string,
  { isCountsOnly, minutesSaved }: ReportSettings,
  nest: Labels,
  tables: ReportTables,
  { month, span, alertsUs }: { readonly month: Month; readonly span: Period; readonly alertsUs: number },
): SentReport {
  const whole = tables.month?.[0]?.figures;
  const { flights = 0, failed = 0 } = whole ?? {};
  const hours = minutesSaved && Math.round(((flights - failed) * minutesSaved) / 60);
  const figures = { ...whole, ...(hours !== undefined && { hours_of_work_saved: hours }) };
  const all: ReportTables = { ...tables, month: [{ text: month.name, figures }] };
  const report = isCountsOnly
    ? { nest: withoutIds(nest), tables: countsOnly(all), isForOthers: true as const }
    : { nest, tables: all };
  const known = { month: month.name, ...(alertsUs > month.fromUs && { alertsUs }) };
  return { name, fromUs: span.fromUs, toUs: span.untilUs, report: { ...known, ...report } };
}

async function membersOf(tx: Transaction, region: string, nestId: string) {
  const all = await tx.inventory.nestMembers(region);
  const { to, leftOut } = memberRecipients(all.find((one) => one.nestId === nestId)?.addresses ?? []);
  return { to, ...(leftOut.length > 0 && { leftOut }) };
}

/** Returns how many deliveries are to be sent: the report of a Nest without members is suppressed. */
async function queueReport(
  tx: Transaction,
  notification: DigestNotification,
  integrations: readonly Integration[],
): Promise<number> {
  const { id, receiver, createdAtUs, to } = notification;
  const isForNobody = to?.length === 0;
  const why = {
    state: 'suppressed' as const,
    settledAtUs: createdAtUs,
    lastError: 'the Nest has no active members',
  };
  const deliveries = destinationsOf(integrations).map((destination) => ({
    ...newDelivery({ id, receiver }, destination, createdAtUs),
    ...(isForNobody && why),
  }));
  await queue(tx, notification, integrations, deliveries);
  return isForNobody ? 0 : deliveries.length;
}

/**
 * The id follows from the period, so it is the same however often the digest is made. The time when it was due is not
 * enough, since that comes twice if our clock is set back.
 */
function notificationOf(
  { name, receiver, timezone }: DigestConfig,
  digest: Digest,
  dueUs: number,
  nowUs: number,
): DigestNotification {
  const id = `digest-${hash64([name, receiver, String(digest.fromUs), String(dueUs)])}`;
  return { kind: 'digest', id, receiver, createdAtUs: nowUs, digest, timezone };
}
