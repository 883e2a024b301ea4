/**
 * Room for objects while a storm lasts. The heap is kept small (`small-heap.ts`), which a storm pays for: what lives
 * until its batch is committed is copied again and again, and all that lives is marked every few hundred milliseconds.
 * That took up to half of the processor time. V8 takes the room back by itself once little is going on; that it favours
 * speed ends a while after the storm.
 */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import type { Report } from './report.ts';
import type { Clock } from './time/clock.ts';

/** Alerts that begin or end within a second: what is taken for a storm. */
const STORM_ALERTS = 100;
/** As `small-heap.ts` has it: by how much of itself the heap grows until the next collection of all that lives. */
const SMALL_GROWTH_PERCENT = 20;
/** The same in a storm, where the heap is small enough that this is no more than `STORM_GROWTH_BYTES`. */
const STORM_GROWTH_PERCENT = 60;
const STORM_GROWTH_BYTES = 20 * 1024 * 1024;
/** What a storm has queued is sent within this, or goes slower. */
const STORM_LASTS_MS = 60_000;
const ROOM_BYTES = 6 * 1024 * 1024;
/** V8 decides at a collection, which is never further away than this. */
const MOST_OBJECTS = 4_096;

interface Engine {
  setFlag(flag: string): void;
  /** What all objects take. */
  usedBytes(): number;
}

const V8: Engine = {
  setFlag: setFlagsFromString,
  usedBytes: () => getHeapStatistics().used_heap_size,
};

/** Hears of alerts, and makes room once very many of them change. The engine is V8, but in a test. */
export function createStormHeap(
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
  { setFlag, usedBytes }: Engine = V8,
): Report {
  let sinceMs = Number.NEGATIVE_INFINITY;
  let alerts = 0;
  let endsMs = Number.POSITIVE_INFINITY;
  return ({ what }) => {
    const nowMs = monotonicMs();
    if (nowMs >= endsMs) {
      setFlag('--optimize-for-size');
      setFlag(`--heap-growing-percent=${SMALL_GROWTH_PERCENT}`);
      endsMs = Number.POSITIVE_INFINITY;
    }
    if (what !== 'alert') return;
    if (nowMs - sinceMs >= 1_000) {
      sinceMs = nowMs;
      alerts = 0;
    }
    alerts += 1;
    if (alerts !== STORM_ALERTS) return;
    endsMs = nowMs + STORM_LASTS_MS;
    setFlag('--no-optimize-for-size');
    setFlag(`--heap-growing-percent=${growthPercent(usedBytes())}`);
    makeRoom();
  };
}

function growthPercent(usedBytes: number): number {
  const percent = Math.round((100 * STORM_GROWTH_BYTES) / usedBytes);
  return Math.min(STORM_GROWTH_PERCENT, Math.max(SMALL_GROWTH_PERCENT, percent));
}

/** V8 lets the space for new objects grow by a factor where many of them outlive a collection: so some have to. */
function makeRoom(): void {
  const before = roomBytes();
  if (before >= ROOM_BYTES) return;
  setFlagsFromString(`--semi-space-growth-factor=${Math.ceil(ROOM_BYTES / before)}`);
  const living: number[][] = [];
  while (roomBytes() === before && living.length < MOST_OBJECTS) living.push(new Array(1024).fill(0.5));
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** What new objects may take until they are collected. */
function roomBytes(): number {
  const space = getHeapSpaceStatistics().find((one) => one.space_name === 'new_space');
  return space ? space.space_used_size + space.space_available_size : Number.POSITIVE_INFINITY;
}
