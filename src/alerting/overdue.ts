/**
 * Fires for what time alone makes wrong, such as Flights that do not end and Birds that start none: the service reports
 * neither. This step asks the store which Flights and Birds are due to be judged, lets each kind that judges them do so,
 * and applies the facts like any others. When each is judged next is kept in the store; what this step remembers only
 * saves work.
 *
 * Nothing is judged without a reading: while a region is down, or not read yet since the start, a Flight may have ended
 * and a Bird may have flown.
 */

import type { RuledFact } from '../domain/alert/fact.ts';
import { FaultBox } from '../domain/alert/fault.ts';
import { placeLabels } from '../domain/alert/labels.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { rulesFor, wokenKinds } from '../domain/evaluate/choose-rule.ts';
import { flightStuck } from '../domain/kinds/flight-stuck.ts';
import { flightWaiting } from '../domain/kinds/flight-waiting.ts';
import type { Judgement, Judges, Subjects } from '../domain/kinds/judge.ts';
import { KINDS } from '../domain/kinds/kinds.ts';
import { isStoreFailure } from '../errors.ts';
import type { Happening } from '../report.ts';
import { applyFacts } from '../store/change-alerts.ts';
import { createHistories, type HistoryOptions } from '../store/read-history.ts';
import type { MissedDeadline } from '../store/sql/watched/judged-times.ts';
import type { Transaction } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import { NOTHING, noteFaults, type Step } from './step-runner.ts';

export interface OverdueOptions extends HistoryOptions {
  readonly rules: readonly Rule[];
  readonly clock: Clock;
  /** Called once it is committed that logs of this region's Flights are to be read now. */
  readonly logsWanted?: ((region: string) => void) | undefined;
}

/** The longest time between two looks at the store: nothing announces what has become due in it since the last one. */
const LOOK_MS = 60_000;
/** The same while a kind is judged as soon as a Flight starts or succeeds (`wokenKinds`), or once its log is read. */
const LOOK_SOON_MS = 5_000;
/** The shortest time between them after a look that found nothing due. */
const LEAST_MS = 1_000;

/** No judgement is put off for longer: what is usual for a Bird may have become known. */
const LONGEST_US = 3_600_000_000;

/** What waits for a reading is judged again after as long as it has waited, within these bounds. */
const UNREAD_US = { least: 5_000_000, most: 60_000_000 };
/** What a rule failed to judge is judged again this much later at the latest. */
const FAULTY_US = 300_000_000;

/** Flights and Birds judged in one transaction. */
const BATCH = 200;

export function createOverdue(options: OverdueOptions) {
  const { rules, clock } = options;
  const leastMs = Math.min(
    ...KINDS.flatMap(({ name, judges }) =>
      judges?.of === 'flight'
        ? rules.filter(({ kind }) => kind === name).map((rule) => judges.leastMs(rule))
        : [],
    ),
  );
  const isSoon = wokenKinds(rules).length > 0 || rules.some(({ kind }) => kind === flightWaiting.name);
  const lookMs = isSoon ? LOOK_SOON_MS : LOOK_MS;
  const beganUs = clock.nowUs();
  let nextLookMs = Number.NEGATIVE_INFINITY;
  let isFirst = true;

  /** Lets all kinds judge these: what facts there are, and when each is judged next. */
  async function judgeEach<Of extends keyof Subjects>(
    tx: Transaction,
    of: Of,
    subjects: readonly Subjects[Of][],
    nowUs: number,
  ) {
    const historyOf = createHistories(tx, options);
    const facts: RuledFact[] = [];
    const judged: Judged<Subjects[Of]>[] = [];
    const happenings: Happening[] = [];
    const missed: MissedDeadline[] = [];
    const faults = new FaultBox();
    for (const subject of subjects) {
      const history = historyOf(subject);
      const labels = {
        ...placeLabels(subject.place),
        ...('flightId' in subject && { flight_id: subject.flightId }),
      };
      let nextUs = nowUs + LONGEST_US;
      let deadlineUs = 'deadlineUs' in subject ? subject.deadlineUs : 0;
      let countedUs = 'countedUs' in subject ? subject.countedUs : 0;
      let logByUs: number | undefined;
      const found: { readonly kind: string; readonly fact: RuledFact }[] = [];
      const claimed = new Set<string>();
      for (const kind of KINDS) {
        const judges = kind.judges?.of === of ? (kind.judges as Judges<Rule> & { of: Of }) : undefined;
        for (const rule of judges ? rulesFor(kind, labels, rules) : []) {
          let judgement: Judgement;
          try {
            judgement = await judges!.judge(subject as never, history, rule, nowUs);
          } catch (error) {
            if (isStoreFailure(error)) throw error;
            faults.note('rule', `${kind.name} by rule ${rule.id}`, error);
            nextUs = Math.min(nextUs, nowUs + FAULTY_US);
            continue;
          }
          if (judgement.fact) found.push({ kind: kind.name, fact: { ...judgement.fact, rule: rule.id } });
          if (judgement.claims && 'precedes' in judges! && judges.precedes) claimed.add(judges.precedes);
          if (judgement.logByUs !== undefined) logByUs = Math.min(logByUs ?? Infinity, judgement.logByUs);
          for (const { atUs, outcome } of judgement.deadlines ?? []) {
            deadlineUs = Math.max(deadlineUs, atUs);
            const { region, nestId } = subject.place;
            happenings.push({ what: 'deadline', region, outcome });
            if (outcome !== 'met') missed.push({ region, nestId, atUs });
          }
          deadlineUs = Math.max(deadlineUs, judgement.judgedUs ?? 0);
          countedUs = Math.max(countedUs, judgement.countedUs ?? 0);
          if (judgement.nextUs !== null) nextUs = Math.min(nextUs, judgement.nextUs);
        }
      }
      for (const { kind, fact } of found) if (!claimed.has(kind)) facts.push(fact);
      // Right after the start nothing has been read yet, which is no reason to judge late.
      const unreadUs = nowUs - Math.max(history.readAtUs, beganUs);
      const laterUs = Math.min(Math.max(unreadUs, UNREAD_US.least), UNREAD_US.most);
      const until = { deadlineUs, countedUs, logByUs };
      judged.push({ subject, nextUs: nextUs > nowUs ? nextUs : nowUs + laterUs, ...until });
    }
    await tx.overdue.countMissed(missed);
    happenings.push(...(await noteFaults(tx, faults.all(), nowUs)));
    return { facts, judged, happenings };
  }

  async function judge(tx: Transaction): Promise<Step> {
    const nowMs = clock.monotonicMs();
    if (nowMs < nextLookMs) return NOTHING;
    const nowUs = clock.nowUs();
    if (isFirst) await tx.overdue.forget();
    const flightsDue = await tx.overdue.flights(nowUs - leastMs * 1000, nowUs, BATCH);
    const birdsDue = await tx.overdue.birds(nowUs, BATCH);
    const flights = await judgeEach(tx, 'flight', flightsDue, nowUs);
    const birds = await judgeEach(tx, 'bird', birdsDue, nowUs);
    const judged = flights.judged.map(({ subject, nextUs, logByUs }) => ({
      ...{ ...subject, nextUs },
      logDueUs: logByUs === undefined ? 0 : Math.min(subject.logDueUs || nowUs, logByUs),
    }));
    await tx.overdue.judgeFlights(judged);
    const wanting = new Set(
      judged.flatMap(({ logDueUs, place }) => (logDueUs > 0 && logDueUs <= nowUs ? place.region : [])),
    );
    await tx.overdue.judgeBirds(birds.judged.map(({ subject, ...rest }) => ({ ...subject.place, ...rest })));
    const facts = [...flights.facts, ...birds.facts];
    const done = flightsDue.length + birdsDue.length;
    let nextMs = nowMs;
    if (done === 0) {
      // With nothing to judge at all, the first inventory is awaited, ever more patiently.
      const awaitedUs = nowUs + Math.max(nowUs - beganUs, UNREAD_US.least);
      const nextUs = (await tx.overdue.nextUs(leastMs)) ?? awaitedUs;
      nextMs = nowMs + Math.min(Math.max((nextUs - nowUs) / 1000, LEAST_MS), lookMs);
      for (const fact of await goneFlights(tx, nowUs)) facts.push(fact);
    }
    const { happenings } = await applyFacts(tx, facts, rules, nowUs);
    const remember = () => {
      isFirst = false;
      nextLookMs = nextMs;
      for (const region of wanting) options.logsWanted?.(region);
    };
    return {
      done,
      queued: 0,
      happenings: [...happenings, ...flights.happenings, ...birds.happenings],
      remember,
    };
  }

  return {
    /** When it is time to look, on the monotonic clock. */
    nextMs: () => nextLookMs,
    /** A step of the alerting pass. */
    judge,
  };
}

interface Judged<Subject> {
  readonly subject: Subject;
  readonly nextUs: number;
  readonly deadlineUs: number;
  readonly countedUs: number;
  readonly logByUs: number | undefined;
}

/**
 * Says of Flights with a FlightStuck alert that they are no longer watched, mostly because the service deleted them.
 */
async function goneFlights(tx: Transaction, nowUs: number): Promise<RuledFact[]> {
  const alerts = await tx.overdue.alertsOfGoneFlights(flightStuck.name);
  return alerts.map(({ labels }) => {
    const { region = '', nest_id: nestId = '', nest = '', bird_id: birdId = '', bird = '' } = labels;
    const place = { region, nestId, nest, birdId, bird };
    return { fact: 'flight_gone', place, flightId: labels.flight_id ?? '', atUs: nowUs };
  });
}
