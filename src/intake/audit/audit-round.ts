/**
 * Whose turn it is to be audited, in one region. Every paged stream is audited over three spans: the last hours at
 * each `audit_interval`, the last day hourly, and all that is kept daily; the widest that is due takes the place of
 * the others. A window ends an overlap before the stream's last complete sweep, since up to there sweeps no longer
 * look back, and begins where the stream is not yet known to be complete, if that is earlier than its span.
 *
 * A sweep reads everything since its stream's cursor. So a stream at rest, whose cursor lies before the window, needs
 * no request: its last sweep was the audit. Only streams with traffic cost something; they are taken in the order in
 * which they fall due, and fall behind together where the allowed share of requests does not suffice.
 */
import { FEEDS, type Feed } from '../../domain/alert/event.ts';
import { codeOf } from '../../errors.ts';
import type { Report } from '../../report.ts';
import type { AuditRecord, GapRecord } from '../../store/audit-store.ts';
import type { Store } from '../../store/store.ts';
import type { Clock, Random } from '../../time/clock.ts';
import type { Commit } from '../commit.ts';
import { MOST_OVERLAP_US } from '../lateness.ts';
import type { LogStream } from '../logs/log-stream.ts';
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';
import { keptSinceUs } from '../retention-horizon.ts';
import { createInstantQueue } from '../schedule/instant-queue.ts';
import { type Audit, type AuditedStream, type AuditOutcome, createAudit, type Window } from './audit.ts';
import { gapsAfter, toldOf } from './gaps.ts';
import { createProvenUntil } from './verified-until.ts';
import { findEdge } from './window-edge.ts';

export interface AuditRoundOptions {
  readonly region: string;
  readonly auditIntervalMs: number;
  readonly retentionMs: number;
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  readonly overlapUs: (feed: Feed) => number;
  /** Where the first sweeps began: nothing older was ever read. */
  readonly firstFromUs: () => number;
}

export interface AuditRound {
  /** Takes what the store knows from an earlier life. */
  load(): Promise<void>;
  add(name: string, feed: Feed, birdId: string, log: LogStream): void;
  remove(name: string): void;
  /** Goes on with what is due, for a few requests. Never throws what the service threw. */
  turn(): Promise<{ readonly requests: number; readonly delayMs: number }>;
  /** Up to here every stream of the feed is complete; 0 as long as that is not known of all of them. */
  verifiedUntilUs(feed: Feed): number;
  /** How late the audit is that has waited longest. */
  behindMs(): number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Requests after which other streams have their turn. */
const REQUESTS_PER_TURN = 5;

/** Streams at rest that one turn passes over. */
const PASSED_PER_TURN = 500;

/** A stream that cannot be read or was not swept yet is audited so much later. */
const RETRY_MS = 30_000;

/** Turns that need no request come no more often than that. */
const PAUSE_MS = 5_000;

/** An audit that fails for one of these would fail again: it is left to its next turn. */
const LASTING = new Set<string>(['not_found', 'bad_request', 'unexpected_shape', 'bug']);

/** Shorter windows are left to the next audit. */
const LEAST_WINDOW_US = 10 * 1_000_000;

/** For all streams without one. */
const NO_GAPS: readonly GapRecord[] = [];

interface Span {
  readonly lookbackMs: number;
  readonly everyMs: number;
}

interface Slot {
  readonly name: string;
  readonly feed: Feed;
  readonly birdId: string;
  readonly log: LogStream;
  /** When each span is due, as the spans are listed. */
  readonly dueMs: number[];
  /** The least of them, or later after trouble. */
  readyMs: number;
  verifiedUs: number;
  /** When day and whole were audited, on the wall clock: for the next life. */
  dayAuditedUs: number;
  wholeAuditedUs: number;
  gaps: readonly GapRecord[];
  isCountTrue: boolean;
  /** Up to here everything was once read or counted by an audit; 0 as long as none was done. */
  auditedUs: number;
  /** When entries were last seen to be gone, on the wall clock; 0 for never. */
  deletedUs: number;
  run: Run | undefined;
}

/** An audit under way. */
interface Run {
  readonly stream: number;
  readonly window: Window;
  readonly span: number;
  /** What is older is kept no longer. */
  readonly oldestUs: number;
  readonly audit: Audit;
}

export function createAuditRound(options: AuditRoundOptions): AuditRound {
  const { region, store, commit, clock, random, report, retentionMs, auditIntervalMs } = options;
  /** The widest first. */
  const spans: readonly Span[] = [
    { lookbackMs: retentionMs, everyMs: Math.max(DAY_MS, auditIntervalMs) },
    { lookbackMs: DAY_MS, everyMs: Math.max(HOUR_MS, auditIntervalMs) },
    { lookbackMs: 4 * HOUR_MS, everyMs: auditIntervalMs },
  ];
  const slots = new Map<string, Slot>();
  const queue = createInstantQueue<Slot>(
    (slot, atMs) => slot.readyMs === atMs && slots.get(slot.name) === slot,
  );
  /** Of streams that are not audited now: of an earlier life, or gone for now. */
  const known = new Map<string, Omit<AuditRecord, 'stream'>>();
  const nameOf = (feed: string, birdId: string) => `${feed}/${birdId}`;
  /** Feeds of which entries are deleted one by one, by when that is forgotten: in all streams counts prove less. */
  const deletingUntilMs = new Map<Feed, number>();
  /** What alerting was told of each feed's gaps, in this life. */
  const toldMissing = new Map<Feed, number>();
  /** False when gaps may have changed since. */
  let isToldAll = false;
  const provenUntil = new Map(FEEDS.map((feed) => [feed, createProvenUntil()]));

  function plan(slot: Slot, readyMs: number): void {
    slot.readyMs = readyMs;
    queue.add(slot, readyMs);
  }

  function* instantsOf(feed: Feed): Iterable<number> {
    for (const slot of slots.values()) if (slot.feed === feed) yield slot.verifiedUs;
  }

  /** The span is done, and those within it. */
  function passed(slot: Slot, span: number, toUs: number): void {
    const nowMs = clock.monotonicMs();
    for (let at = span; at < spans.length; at += 1) {
      // Streams that began together need not stay together.
      slot.dueMs[at] = nowMs + spans[at]!.everyMs * (1 - random() / 10);
    }
    if (span === 0) slot.wholeAuditedUs = clock.nowUs();
    if (span <= 1) slot.dayAuditedUs = clock.nowUs();
    slot.verifiedUs = slot.gaps[0]?.fromUs ?? Math.max(slot.verifiedUs, toUs);
    plan(slot, Math.min(...slot.dueMs));
  }

  /** The next stream that needs requests; those that need none are passed on the way. */
  async function next(): Promise<Slot | undefined> {
    for (let count = 0; count < PASSED_PER_TURN; count += 1) {
      const nowMs = clock.monotonicMs();
      const due = queue.first();
      if (!due || due.atMs > nowMs) return undefined;
      const slot = due.item;
      if (slot.run) return slot;
      const swept = slot.log.swept();
      const span = slot.dueMs.findIndex((dueMs) => dueMs <= nowMs);
      if (!swept || span < 0) {
        plan(slot, nowMs + RETRY_MS);
        continue;
      }
      const toUs = swept.atUs - options.overlapUs(slot.feed);
      const oldestUs = Math.max(
        options.firstFromUs() + ANCHOR_MARGIN_US,
        swept.prunedUs + ANCHOR_MARGIN_US,
        keptSinceUs(Math.max(swept.atUs, clock.nowUs()), retentionMs),
      );
      const spanFromUs = Math.min(toUs - spans[span]!.lookbackMs * 1000, slot.verifiedUs || oldestUs);
      const fromUs = Math.max(oldestUs, spanFromUs);
      const isRead = slot.gaps.length === 0 && swept.fromUs <= fromUs;
      if (isRead || toUs - fromUs < LEAST_WINDOW_US) {
        passed(slot, span, isRead ? toUs : slot.verifiedUs);
        continue;
      }
      slot.run = await begin(slot, swept.stream, span, { fromUs, toUs, oldestUs });
      return slot;
    }
    return undefined;
  }

  async function begin(
    slot: Slot,
    stream: number,
    span: number,
    { fromUs, toUs, oldestUs }: Window & { readonly oldestUs: number },
  ): Promise<Run> {
    const sides = sidesOf(slot, stream);
    const from = await findEdge(sides.entries, fromUs, {
      lowUs: oldestUs,
      highUs: fromUs === oldestUs ? toUs : fromUs,
    });
    const to = await findEdge(sides.entries, toUs, { lowUs: from.us, highUs: toUs });
    const window = { fromUs: from.us, toUs: to.us };
    const audit = createAudit(sides, {
      window,
      isDense: !from.isQuiet || !to.isQuiet,
      knownGaps: slot.gaps,
      countedUntilUs: await countedUntilUs(slot, sides, window),
      isCountTrue: slot.isCountTrue,
    });
    return { stream, window, span, oldestUs, audit };
  }

  /**
   * Counts that agree prove nothing where one entry went and another is missing. So what may have come since the last
   * audit is read, as late as overlaps allow for, and everything once entries were seen to go.
   */
  async function countedUntilUs(
    { auditedUs, feed }: Slot,
    { count, pageSize, entries }: AuditedStream,
    window: Window,
  ): Promise<number> {
    const nowMs = clock.monotonicMs();
    const isDeleting = nowMs < (deletingUntilMs.get(feed) ?? nowMs);
    const settledUs = auditedUs - MOST_OVERLAP_US;
    if (isDeleting || settledUs <= window.fromUs) return window.fromUs;
    // One page tells all of it.
    if ((await count(window)) <= pageSize()) return window.toUs;
    const edge = await findEdge(entries, settledUs, { lowUs: window.fromUs, highUs: window.toUs });
    return edge.isQuiet ? edge.us : window.fromUs;
  }

  function sidesOf({ log }: Slot, stream: number): AuditedStream {
    // Page numbers count in page sizes: one audit keeps to one.
    const pageSize = log.pageSize();
    return {
      ask: (query) => log.ask(query),
      count: ({ fromUs, toUs }) => store.transaction((tx) => tx.events.count(stream, fromUs, toUs)),
      entries: ({ fromUs, toUs }) => store.transaction((tx) => tx.events.ids(stream, fromUs, toUs)),
      async keep(items) {
        // An entry whose instant was changed is known by its id alone.
        const ids = items.flatMap((item) => (item.ok ? [item.entry.id] : []));
        const known = await store.transaction((tx) => tx.events.knownIds(stream, ids));
        return (await log.keep(items.filter((item) => !item.ok || !known.has(item.entry.id)))).length;
      },
      pageSize: () => pageSize,
    };
  }

  /** Takes over what an audit found out. */
  async function conclude(slot: Slot, run: Run, outcome: AuditOutcome): Promise<void> {
    const { feed, name } = slot;
    const { recovered, isDeleted, isCountTrue } = outcome;
    const stillKept = slot.gaps.filter((gap) => gap.toUs > run.oldestUs);
    const { gaps, missing } = gapsAfter(stillKept, run.window, outcome.gaps);
    if (isDeleted) {
      slot.deletedUs = clock.nowUs();
      deletingUntilMs.set(feed, clock.monotonicMs() + DAY_MS);
    }
    if (slot.isCountTrue && !isCountTrue) report({ what: 'counts_untrue', region, feed, stream: name });
    slot.isCountTrue = isCountTrue;
    slot.auditedUs = run.window.toUs;
    slot.run = undefined;
    if (gaps.length + slot.gaps.length > 0) isToldAll = false;
    slot.gaps = gaps;
    passed(slot, run.span, run.window.toUs);
    if (recovered > 0) report({ what: 'recovered', region, feed, count: recovered });
    if (missing > 0) report({ what: 'missing', region, feed, count: missing });
    const { verifiedUs, dayAuditedUs, wholeAuditedUs, deletedUs } = slot;
    const audit = { stream: run.stream, verifiedUs, dayAuditedUs, wholeAuditedUs, deletedUs, gaps };
    await commit({ region, audits: [audit] });
  }

  /** Tells alerting where the number of missing entries is another than it knows. Flights tell of their own. */
  async function tellGaps(): Promise<void> {
    for (const feed of FEEDS) {
      if (feed === 'flight') continue;
      const own = [...slots.values()].filter((slot) => slot.feed === feed);
      const { missing, sinceUs } = toldOf(own.flatMap((slot) => slot.gaps));
      if (missing === toldMissing.get(feed)) continue;
      await commit({ region, facts: [{ fact: 'feed_gap', region, feed, missing, sinceUs }] });
      toldMissing.set(feed, missing);
    }
    isToldAll = true;
  }

  return {
    async load() {
      await store.transaction(async (tx) => {
        const streams = new Map((await tx.streams.list(region)).map((one) => [one.stream, one]));
        for (const record of await tx.audits.list(region)) {
          const { feed, birdId } = streams.get(record.stream)!;
          if (feed === 'flight' || feed === 'inventory') continue;
          known.set(nameOf(feed, birdId), record);
          const deletingMs = Math.min(DAY_MS, (record.deletedUs - clock.nowUs()) / 1000 + DAY_MS);
          const untilMs = clock.monotonicMs() + deletingMs;
          deletingUntilMs.set(feed, Math.max(untilMs, deletingUntilMs.get(feed) ?? 0));
        }
      });
    },
    add(name, feed, birdId, log) {
      const nowMs = clock.monotonicMs();
      const record = known.get(nameOf(feed, birdId));
      known.delete(nameOf(feed, birdId));
      if (record && record.gaps.length > 0) isToldAll = false;
      const dueOf = (auditedUs: number, { everyMs }: Span) =>
        nowMs + Math.min(everyMs, Math.max(0, everyMs - (clock.nowUs() - auditedUs) / 1000));
      const [whole, day] = spans;
      const slot: Slot = {
        name,
        feed,
        birdId,
        log,
        dueMs: record
          ? [dueOf(record.wholeAuditedUs, whole!), dueOf(record.dayAuditedUs, day!), nowMs]
          : [nowMs, nowMs, nowMs],
        readyMs: nowMs,
        verifiedUs: record?.verifiedUs ?? 0,
        dayAuditedUs: record?.dayAuditedUs ?? 0,
        wholeAuditedUs: record?.wholeAuditedUs ?? 0,
        gaps: record?.gaps ?? NO_GAPS,
        isCountTrue: true,
        auditedUs: record?.verifiedUs ?? 0,
        deletedUs: record?.deletedUs ?? 0,
        run: undefined,
      };
      slots.set(name, slot);
      plan(slot, nowMs);
    },
    remove(name) {
      const slot = slots.get(name);
      slots.delete(name);
      isToldAll = false;
      if (!slot || slot.verifiedUs === 0) return;
      // It may come back: a reading of the inventory may have lacked it.
      const { feed, birdId, verifiedUs, dayAuditedUs, wholeAuditedUs, deletedUs, gaps } = slot;
      known.set(nameOf(feed, birdId), { verifiedUs, dayAuditedUs, wholeAuditedUs, deletedUs, gaps });
    },
    async turn() {
      let requests = 0;
      const slot = await next();
      const run = slot?.run;
      try {
        while (run && !run.audit.outcome() && requests < REQUESTS_PER_TURN)
          requests += await run.audit.step();
        const outcome = run?.audit.outcome();
        if (slot && run && outcome) await conclude(slot, run, outcome);
        if (!isToldAll) await tellGaps();
      } catch (error) {
        const code = codeOf(error);
        if (!slot || code === 'bug') report({ what: 'trouble', stage: 'intake', region, error });
        if (slot && LASTING.has(code)) slot.run = undefined;
        if (slot) plan(slot, clock.monotonicMs() + (LASTING.has(code) ? auditIntervalMs : RETRY_MS));
      }
      const dueMs = (queue.first()?.atMs ?? Number.POSITIVE_INFINITY) - clock.monotonicMs();
      return { requests, delayMs: Math.max(requests > 0 ? 0 : PAUSE_MS, dueMs) };
    },
    verifiedUntilUs: (feed) => provenUntil.get(feed)!(instantsOf(feed)),
    behindMs: () => Math.max(0, clock.monotonicMs() - (queue.first()?.atMs ?? Number.POSITIVE_INFINITY)),
  };
}
