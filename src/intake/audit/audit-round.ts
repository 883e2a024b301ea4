/**
 * Chooses which stream of a region to audit next. Every paged stream is audited over three spans: the last four hours
 * at each `audit_interval`, the last day hourly, and everything stored daily. The widest span that is due replaces
 * the others. The window ends one overlap before the stream's last complete sweep, since sweeps no longer look back
 * before that. It begins where the stream is not known to be complete yet, if that is earlier than the span.
 *
 * A sweep reads everything since its stream's cursor. So an idle stream, whose cursor is before the window, needs no
 * request: its last sweep was the audit, unless it listed fewer entries than the service counted. Only streams with
 * traffic cost requests. They are audited in the order in which they are due, and become late together if their share
 * of the requests is too small.
 */
import { FEEDS, type Feed, isOwnFeed } from '../../domain/alert/event.ts';
import { codeOf, NestwatchError } from '../../errors.ts';
import type { Report } from '../../report.ts';
import type { AuditRecord, GapRecord } from '../../store/sql/watched/audits.ts';
import type { Store } from '../../store/store.ts';
import type { Clock, Random } from '../../time/clock.ts';
import { type Column, createColumns } from '../columns.ts';
import type { Commit } from '../commit.ts';
import { MOST_OVERLAP_US } from '../lateness.ts';
import type { LogStream } from '../logs/log-stream.ts';
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';
import { type IntakeParts, retentionHorizonUs } from '../parts.ts';
import { Audit, type AuditedStream, type AuditOutcome } from './audit.ts';
import { findEdge, gapsAfter, reportedGaps, type Window } from './audit-window.ts';

interface AuditRoundOptions extends Omit<IntakeParts, 'poll' | 'client'> {
  readonly auditIntervalMs: number;
  readonly overlapUs: (feed: Feed) => number;
  /** Where the first sweeps began. Nothing older was ever read. */
  readonly firstFromUs: (birdId: string) => number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The most requests in one turn, so that other streams get theirs. */
const REQUESTS_PER_TURN = 5;

/** The most idle streams that one turn passes over. */
const PASSED_PER_TURN = 500;

/** When a stream that cannot be read, or was not swept yet, is audited again. */
const RETRY_MS = 30_000;

/** The least time between turns that need no request. */
const PAUSE_MS = 5_000;

/** Errors that would fail an audit again. The stream is left to its next audit. */
const LASTING = new Set<string>(['not_found', 'forbidden', 'bad_request', 'unexpected_shape', 'bug']);

/**
 * How often the state of a stream that needs no audit is stored. After a restart it says up to when the stream is
 * verified.
 */
const KEEP_VERIFIED_US = 6 * 3_600_000_000;

/** Shorter windows are left to the next audit. */
const LEAST_WINDOW_US = 10 * 1_000_000;

/** Shared by all streams without gaps. */
const NO_GAPS: readonly GapRecord[] = [];

interface Span {
  readonly lookbackMs: number;
  readonly everyMs: number;
}

/** An audited stream. There may be tens of thousands, so its instants are kept in columns. */
interface Slot {
  /** The row of its instants. */
  readonly row: number;
  readonly name: string;
  readonly feed: Feed;
  readonly birdId: string;
  readonly log: LogStream;
  gaps: readonly GapRecord[];
  isCountTrue: boolean;
  run: AuditRun | undefined;
}

export class AuditRound {
  readonly #options: AuditRoundOptions;
  readonly #region: string;
  readonly #store: Store;
  readonly #commit: Commit;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #report: Report;
  readonly #retentionMs: number;
  readonly #auditIntervalMs: number;
  /** The widest first. */
  readonly #spans: readonly Span[];
  readonly #slots = new Map<string, Slot>();
  readonly #instants = createColumns();
  /** When each span is due, in the order of the spans. */
  readonly #dueMs: readonly Column<number>[];
  /** When the stream gets its turn: at the earliest of `#dueMs`, or later after a failure. */
  readonly #readyMs: Column<number> = this.#instants.add(0);
  readonly #verifiedUs: Column<number> = this.#instants.add(0);
  /** How much of that is stored. */
  readonly #keptUs: Column<number> = this.#instants.add(0);
  /** When its last sweep ran before its first audit since the start; 0 before. */
  readonly #firstReadUs: Column<number> = this.#instants.add(0);
  /** When the day and everything stored were audited, on the wall clock, so that it survives a restart. */
  readonly #dayAuditedUs: Column<number> = this.#instants.add(0);
  readonly #wholeAuditedUs: Column<number> = this.#instants.add(0);
  /** Up to when an audit has read or counted everything; 0 if none is finished. */
  readonly #auditedUs: Column<number> = this.#instants.add(0);
  /** When entries were last seen to be deleted, on the wall clock; 0 for never. */
  readonly #deletedUs: Column<number> = this.#instants.add(0);
  /** The rows of streams removed since the last turn began. That turn may still write to them. */
  readonly #removedRows: number[] = [];
  /** The records of streams that are not audited now: from an earlier run, or of streams that were removed. */
  readonly #known = new Map<string, Omit<AuditRecord, 'stream'>>();
  /** Until when equal counts prove less in a feed's streams, because single entries of it were seen to be deleted. */
  readonly #deletingUntilMs = new Map<Feed, number>();
  /** How many missing entries of each feed were reported to alerting since the start. */
  readonly #reportedMissing = new Map<Feed, number>();
  /** False if gaps may have changed since. */
  #areGapsReported = false;
  readonly #verifiedUntil = new Map(FEEDS.map((feed) => [feed, createVerifiedUntil()]));

  constructor(options: AuditRoundOptions) {
    this.#options = options;
    this.#region = options.region;
    this.#store = options.store;
    this.#commit = options.commit;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#report = options.report;
    this.#retentionMs = options.retentionMs;
    this.#auditIntervalMs = options.auditIntervalMs;
    this.#spans = [
      { lookbackMs: this.#retentionMs, everyMs: Math.max(DAY_MS, this.#auditIntervalMs) },
      { lookbackMs: DAY_MS, everyMs: Math.max(HOUR_MS, this.#auditIntervalMs) },
      { lookbackMs: 4 * HOUR_MS, everyMs: this.#auditIntervalMs },
    ];
    this.#dueMs = this.#spans.map(() => this.#instants.add(0));
  }

  /** Loads what earlier runs have stored. */
  async load(): Promise<void> {
    await this.#store.transaction(async (tx) => {
      const streams = new Map((await tx.streams.list(this.#region)).map((one) => [one.stream, one]));
      for (const record of await tx.audits.list(this.#region)) {
        const { feed, birdId } = streams.get(record.stream)!;
        if (feed === 'flight' || isOwnFeed(feed)) continue;
        this.#known.set(recordName(feed, birdId), record);
        const deletingMs = Math.min(DAY_MS, (record.deletedUs - this.#clock.nowUs()) / 1000 + DAY_MS);
        const untilMs = this.#clock.monotonicMs() + deletingMs;
        this.#deletingUntilMs.set(feed, Math.max(untilMs, this.#deletingUntilMs.get(feed) ?? 0));
      }
    });
  }

  /** Begins to audit the stream. */
  add(name: string, feed: Feed, birdId: string, log: LogStream): void {
    const nowMs = this.#clock.monotonicMs();
    const record = this.#known.get(recordName(feed, birdId));
    this.#known.delete(recordName(feed, birdId));
    if (record && record.gaps.length > 0) this.#areGapsReported = false;
    const dueOf = (auditedUs: number, { everyMs }: Span) =>
      nowMs + Math.min(everyMs, Math.max(0, everyMs - (this.#clock.nowUs() - auditedUs) / 1000));
    const row = this.#instants.addRow();
    for (const dueMs of this.#dueMs) dueMs.set(row, nowMs);
    if (record) {
      const [whole, day] = this.#spans;
      const [wholeDueMs, dayDueMs] = this.#dueMs;
      wholeDueMs!.set(row, dueOf(record.wholeAuditedUs, whole!));
      dayDueMs!.set(row, dueOf(record.dayAuditedUs, day!));
      this.#verifiedUs.set(row, record.verifiedUs);
      this.#keptUs.set(row, record.verifiedUs);
      this.#dayAuditedUs.set(row, record.dayAuditedUs);
      this.#wholeAuditedUs.set(row, record.wholeAuditedUs);
      this.#auditedUs.set(row, record.verifiedUs);
      this.#deletedUs.set(row, record.deletedUs);
    }
    const gaps = record?.gaps ?? NO_GAPS;
    const slot: Slot = { row, name, feed, birdId, log, gaps, isCountTrue: true, run: undefined };
    this.#slots.set(name, slot);
    this.#plan(slot, nowMs);
  }

  /** Stops auditing the stream. Its state is kept in case it comes back. */
  remove(name: string): void {
    const slot = this.#slots.get(name);
    this.#slots.delete(name);
    this.#areGapsReported = false;
    if (!slot) return;
    this.#removedRows.push(slot.row);
    const record = this.#recordOf(slot);
    // It may come back, if only a reading of the inventory lacked it.
    if (record.verifiedUs > 0) this.#known.set(recordName(slot.feed, slot.birdId), record);
  }

  /** Continues the audit that is due, for a few requests. Never throws what the service threw. */
  async turn(): Promise<{ readonly requests: number; readonly delayMs: number }> {
    let requests = 0;
    for (const row of this.#removedRows.splice(0)) this.#instants.removeRow(row);
    const slot = await this.#next();
    const run = slot?.run;
    try {
      while (run && !run.audit.outcome() && requests < REQUESTS_PER_TURN) requests += await run.audit.step();
      const outcome = run?.audit.outcome();
      if (slot && run && outcome) await this.#conclude(slot, run, outcome);
      if (!this.#areGapsReported) await this.#reportGaps();
    } catch (error) {
      const code = codeOf(error);
      if (!slot || code === 'bug')
        this.#report({ what: 'trouble', stage: 'intake', region: this.#region, error });
      // What failed was mostly a request as well.
      requests += 1;
      const isLasting =
        LASTING.has(code) || (error instanceof NestwatchError && error.facts.isAlone === true);
      if (slot && isLasting) slot.run = undefined;
      if (slot) this.#plan(slot, this.#clock.monotonicMs() + (isLasting ? this.#auditIntervalMs : RETRY_MS));
    }
    const dueMs = this.#firstReadyMs() - this.#clock.monotonicMs();
    return { requests, delayMs: Math.max(requests > 0 ? 0 : PAUSE_MS, dueMs) };
  }

  /**
   * Up to when every stream of the feed is known to be complete; 0 if that was never known of all of them. A stream
   * that was added later limits this to the time of its last sweep before its first audit, until that audit is
   * finished.
   */
  verifiedUntilUs(feed: Feed): number {
    let leastUs = this.#verifiedUntil.get(feed)!(this.#instantsOf(feed));
    for (const slot of this.#slots.values()) {
      const firstUs =
        slot.feed === feed && this.#verifiedOf(slot) === 0 ? this.#firstReadUs.get(slot.row) : 0;
      if (firstUs > 0) leastUs = Math.min(leastUs, firstUs);
    }
    return leastUs;
  }

  /** How late the longest waiting audit is. */
  lagMs(): number {
    return Math.max(0, this.#clock.monotonicMs() - this.#firstReadyMs());
  }

  /** When a stream gets its turn next. This takes a fraction of a millisecond even for tens of thousands. */
  #firstReadyMs(): number {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const { row } of this.#slots.values()) firstMs = Math.min(firstMs, this.#readyMs.get(row));
    return firstMs;
  }

  /** The streams that are due, the one that has been due longest first. */
  #due(nowMs: number): readonly Slot[] {
    const due = [...this.#slots.values()].filter(({ row }) => this.#readyMs.get(row) <= nowMs);
    return due.sort((one, other) => this.#readyMs.get(one.row) - this.#readyMs.get(other.row));
  }

  /** Whether single entries of the feed were seen to be deleted within the last day. */
  #isDeleting(feed: Feed): boolean {
    const nowMs = this.#clock.monotonicMs();
    return nowMs < (this.#deletingUntilMs.get(feed) ?? nowMs);
  }

  /** Plans the stream's next turn for that time. */
  #plan(slot: Slot, readyMs: number): void {
    this.#readyMs.set(slot.row, readyMs);
  }

  *#instantsOf(feed: Feed): Iterable<number> {
    for (const slot of this.#slots.values()) if (slot.feed === feed) yield this.#verifiedOf(slot);
  }

  /** Up to when the stream is verified, but never later than its last sweep. */
  #verifiedOf({ row, log }: Slot): number {
    return Math.min(this.#verifiedUs.get(row), log.swept()?.atUs ?? Number.POSITIVE_INFINITY);
  }

  /** The span of a stream was audited up to `toUs`, and with it the shorter spans. */
  #passed(slot: Slot, span: number, toUs: number): void {
    const { row } = slot;
    const nowMs = this.#clock.monotonicMs();
    for (let at = span; at < this.#spans.length; at += 1) {
      // Varied at random, so that streams that started together do not stay together.
      this.#dueMs[at]!.set(row, nowMs + this.#spans[at]!.everyMs * (1 - this.#random() / 10));
    }
    if (span === 0) this.#wholeAuditedUs.set(row, this.#clock.nowUs());
    if (span <= 1) this.#dayAuditedUs.set(row, this.#clock.nowUs());
    this.#verifiedUs.set(row, slot.gaps[0]?.fromUs ?? Math.max(this.#verifiedUs.get(row), toUs));
    this.#plan(slot, Math.min(...this.#dueMs.map((dueMs) => dueMs.get(row))));
  }

  /** The next stream that is due and needs requests. Due streams that need none are marked as audited on the way. */
  async #next(): Promise<Slot | undefined> {
    for (const slot of this.#due(this.#clock.monotonicMs()).slice(0, PASSED_PER_TURN)) {
      const nowMs = this.#clock.monotonicMs();
      const { row } = slot;
      if (this.#slots.get(slot.name) !== slot) continue;
      // What an audit compares may be deleted if it lasts long, as through an outage. The hour is for this turn.
      const deletedUntilUs = this.#clock.nowUs() - (this.#retentionMs - HOUR_MS) * 1000;
      if (slot.run && slot.run.window.fromUs < deletedUntilUs) slot.run = undefined;
      if (slot.run) return slot;
      const swept = slot.log.swept();
      const span = this.#dueMs.findIndex((dueMs) => dueMs.get(row) <= nowMs);
      if (!swept || span < 0) {
        this.#plan(slot, nowMs + RETRY_MS);
        continue;
      }
      // Both may have been set while the service's clock was ahead.
      const verifiedUs = this.#verifiedOf(slot);
      const auditedUs = Math.min(this.#auditedUs.get(row), swept.atUs);
      this.#verifiedUs.set(row, verifiedUs);
      this.#auditedUs.set(row, auditedUs);
      const toUs = swept.atUs - this.#options.overlapUs(slot.feed);
      const oldestUs = Math.max(
        this.#options.firstFromUs(slot.birdId) + ANCHOR_MARGIN_US,
        swept.prunedUs + ANCHOR_MARGIN_US,
        retentionHorizonUs(Math.max(swept.atUs, this.#clock.nowUs()), this.#retentionMs),
      );
      const spanFromUs = Math.min(toUs - this.#spans[span]!.lookbackMs * 1000, verifiedUs || oldestUs);
      const fromUs = Math.max(oldestUs, spanFromUs);
      const isProof = !(swept.isShort && slot.isCountTrue);
      const isRead = isProof && slot.gaps.length === 0 && swept.fromUs <= fromUs;
      if (isRead || toUs - fromUs < LEAST_WINDOW_US) {
        this.#passed(slot, span, isRead ? toUs : verifiedUs);
        if (this.#verifiedUs.get(row) - this.#keptUs.get(row) >= KEEP_VERIFIED_US) {
          // The failure need not be retried: what the store refuses now is stored the next time.
          await this.#keep(slot, swept.stream).catch((error) =>
            this.#report({ what: 'trouble', stage: 'intake', region: this.#region, error }),
          );
        }
        continue;
      }
      if (this.#firstReadUs.get(row) === 0) this.#firstReadUs.set(row, swept.atUs);
      const { log, gaps, isCountTrue } = slot;
      slot.run = await beginAudit(this.#store, {
        ...{ log, stream: swept.stream, span, fromUs, toUs, oldestUs },
        ...{ gaps, isCountTrue, auditedUs },
        isDeleting: () => this.#isDeleting(slot.feed),
      });
      return slot;
    }
    return undefined;
  }

  /** Takes over the outcome of an audit and commits it. */
  async #conclude(slot: Slot, run: AuditRun, outcome: AuditOutcome): Promise<void> {
    const { row, feed, name } = slot;
    const { recovered, isDeleted, isCountTrue } = outcome;
    const stillKept = slot.gaps.filter((gap) => gap.toUs > run.oldestUs);
    const { gaps, missing } = gapsAfter(stillKept, run.window, outcome.gaps);
    if (isDeleted) {
      this.#deletedUs.set(row, this.#clock.nowUs());
      this.#deletingUntilMs.set(feed, this.#clock.monotonicMs() + DAY_MS);
    }
    if (slot.isCountTrue && !isCountTrue)
      this.#report({ what: 'counts_untrue', region: this.#region, feed, stream: name });
    slot.isCountTrue = isCountTrue;
    this.#auditedUs.set(row, run.window.toUs);
    slot.run = undefined;
    if (gaps.length + slot.gaps.length > 0) this.#areGapsReported = false;
    slot.gaps = gaps;
    this.#passed(slot, run.span, run.window.toUs);
    if (recovered > 0) this.#report({ what: 'recovered', region: this.#region, feed, count: recovered });
    if (missing > 0) this.#report({ what: 'missing', region: this.#region, feed, count: missing });
    await this.#keep(slot, run.stream);
  }

  /** Commits the state of a stream. */
  async #keep(slot: Slot, stream: number): Promise<void> {
    const record = this.#recordOf(slot);
    await this.#commit({ region: this.#region, audits: [{ stream, ...record }] });
    this.#keptUs.set(slot.row, record.verifiedUs);
  }

  #recordOf({ row, gaps }: Slot): Omit<AuditRecord, 'stream'> {
    return {
      verifiedUs: this.#verifiedUs.get(row),
      dayAuditedUs: this.#dayAuditedUs.get(row),
      wholeAuditedUs: this.#wholeAuditedUs.get(row),
      deletedUs: this.#deletedUs.get(row),
      gaps,
    };
  }

  /** Commits how many entries of a feed are missing, if that has changed. Flights report their own gaps. */
  async #reportGaps(): Promise<void> {
    for (const feed of FEEDS) {
      if (feed === 'flight') continue;
      const own = [...this.#slots.values()].filter((slot) => slot.feed === feed);
      const { missing, sinceUs } = reportedGaps(own.flatMap((slot) => slot.gaps));
      if (missing === this.#reportedMissing.get(feed)) continue;
      const region = this.#region;
      await this.#commit({ region, facts: [{ fact: 'feed_gap', region, feed, missing, sinceUs }] });
      this.#reportedMissing.set(feed, missing);
    }
    this.#areGapsReported = true;
  }
}

function recordName(feed: string, birdId: string): string {
  return `${feed}/${birdId}`;
}

// Starts an audit: places the edges of its window, and gives it access to the stream at the service and in the store.

interface AuditRun {
  readonly stream: number;
  readonly window: Window;
  /** The index of the audited span. */
  readonly span: number;
  /** Older entries are no longer kept. */
  readonly oldestUs: number;
  readonly audit: Audit;
}

/** What to audit: [fromUs, toUs), but the edges may be moved to quiet instants. */
interface AuditTarget {
  readonly log: LogStream;
  readonly stream: number;
  readonly span: number;
  readonly fromUs: number;
  readonly toUs: number;
  readonly oldestUs: number;
  readonly gaps: readonly GapRecord[];
  readonly isCountTrue: boolean;
  /** Up to here an earlier audit has read or counted everything; 0 if there was none. */
  readonly auditedUs: number;
  /** Whether single entries of the feed were recently seen to be deleted. */
  readonly isDeleting: () => boolean;
}

async function beginAudit(store: Store, target: AuditTarget): Promise<AuditRun> {
  const { stream, span, fromUs, toUs, oldestUs } = target;
  const sides = sidesOf(store, target);
  const from = await findEdge(sides.entries, fromUs, {
    lowUs: oldestUs,
    highUs: fromUs === oldestUs ? toUs : fromUs,
  });
  const to = await findEdge(sides.entries, toUs, { lowUs: from.us, highUs: toUs });
  const window = { fromUs: from.us, toUs: to.us };
  const audit = new Audit(sides, {
    window,
    isDense: !from.isQuiet || !to.isQuiet,
    knownGaps: target.gaps,
    countedUntilUs: await countedUntilUs(target, sides, window),
    isCountTrue: target.isCountTrue,
  });
  return { stream, window, span, oldestUs, audit };
}

/**
 * Up to where entries are only counted. Equal counts prove nothing if one entry was deleted and another one is
 * missing. So entries that may have arrived since the last audit are read, with the longest overlap as margin. Once
 * entries were seen to be deleted, the whole window is read.
 */
async function countedUntilUs(
  { auditedUs, isDeleting }: AuditTarget,
  { count, pageSize, entries }: AuditedStream,
  window: Window,
): Promise<number> {
  const settledUs = auditedUs - MOST_OVERLAP_US;
  if (isDeleting() || settledUs <= window.fromUs) return window.fromUs;
  // One page lists all of it.
  if ((await count(window)) <= pageSize()) return window.toUs;
  const edge = await findEdge(entries, settledUs, { lowUs: window.fromUs, highUs: window.toUs });
  return edge.isQuiet ? edge.us : window.fromUs;
}

/** The stream at the service, and in the store. */
function sidesOf(store: Store, { log, stream }: AuditTarget): AuditedStream {
  // Page numbers depend on the page size, so an audit uses a single size.
  const pageSize = log.pageSize();
  return {
    ask: (query) => log.ask(query),
    count: ({ fromUs, toUs }) => store.transaction((tx) => tx.events.count(stream, fromUs, toUs)),
    entries: ({ fromUs, toUs }) => store.transaction((tx) => tx.events.ids(stream, fromUs, toUs)),
    async keep(items) {
      // An entry whose instant has changed is recognised by its id only.
      const ids = items.flatMap((item) => (item.ok ? [item.entry.id] : []));
      const known = await store.transaction((tx) => tx.events.knownIds(stream, ids));
      return (await log.keep(items.filter((item) => !item.ok || !known.has(item.entry.id)))).length;
    },
    pageSize: () => pageSize,
  };
}

/**
 * Computes up to when a whole feed is verified from the instants of its streams, where 0 means not verified yet. The
 * result is the earliest of them, once every stream was verified. A stream that is added later does not reset it to
 * 0.
 */
type VerifiedUntil = (streamsUs: Iterable<number>) => number;

export function createVerifiedUntil(): VerifiedUntil {
  let wasWhole = false;
  return (streamsUs) => {
    let leastUs = Number.POSITIVE_INFINITY;
    let isWhole = true;
    for (const us of streamsUs) {
      if (us === 0) isWhole = false;
      else leastUs = Math.min(leastUs, us);
    }
    if (leastUs === Number.POSITIVE_INFINITY) return 0;
    wasWhole ||= isWhole;
    return wasWhole ? leastUs : 0;
  };
}
