/**
 * Favours speed over memory while a storm of alerts lasts. The heap is normally kept small (`small-heap.ts`), which is
 * expensive in a storm: what lives until its batch is committed is copied repeatedly, and the whole heap is marked
 * every few hundred milliseconds. That took up to half of the processor time. V8 reclaims the room by itself once
 * little is going on; the flags are set back a while after the storm.
 *
 * In a storm V8 also compiles with Maglev, its fast optimizing compiler, without which code that just became busy takes a
 * quarter more time. Later, the slower Turbofan has compiled what matters, and Maglev does no more than take memory: with
 * 20,000 Birds, one round of compilations left 15 MiB of holes in the C library's heap for good.
 */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import type { Report } from './report.ts';
import type { Clock } from './time/clock.ts';

/** A storm: this many alerts that fire or resolve within a second. */
const STORM_ALERTS = 100;
/** By how much the heap may grow before the next full collection; the value of `small-heap.ts`. */
const SMALL_GROWTH_PERCENT = 12;
/** The same in a storm, limited so that the growth is at most `STORM_GROWTH_BYTES`. */
const STORM_GROWTH_PERCENT = 60;
const STORM_GROWTH_BYTES = 20 * 1024 * 1024;
/** By then the notifications of a storm are sent, or their sending has slowed down. */
const STORM_LASTS_MS = 60_000;
const ROOM_BYTES = 6 * 1024 * 1024;
/** The new size takes effect at a collection, which comes within this many objects. */
const MOST_OBJECTS = 4_096;

interface Engine {
  setFlag(flag: string): void;
  /** The bytes that all objects take. */
  usedBytes(): number;
}

const V8: Engine = {
  setFlag: setFlagsFromString,
  usedBytes: () => getHeapStatistics().used_heap_size,
};

/**
 * Counts reported alerts, and makes room when very many of them change. To be created when the process starts. The
 * engine is V8, except in tests.
 */
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
      setFlag('--no-maglev');
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
    setFlag('--maglev');
    setFlag(`--heap-growing-percent=${growthPercent(usedBytes())}`);
    makeRoom();
  };
}

function growthPercent(usedBytes: number): number {
  const percent = Math.round((100 * STORM_GROWTH_BYTES) / usedBytes);
  return Math.min(STORM_GROWTH_PERCENT, Math.max(SMALL_GROWTH_PERCENT, percent));
}

/**
 * V8 grows the space for new objects by a factor when many of them survive a collection, so this makes some survive.
 */
function makeRoom(): void {
  const before = roomBytes();
  if (before >= ROOM_BYTES) return;
  setFlagsFromString(`--semi-space-growth-factor=${Math.ceil(ROOM_BYTES / before)}`);
  const living: number[][] = [];
  while (roomBytes() === before && living.length < MOST_OBJECTS) living.push(new Array(1024).fill(0.5));
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** The bytes that new objects may take until they are collected. */
function roomBytes(): number {
  const space = getHeapSpaceStatistics().find((one) => one.space_name === 'new_space');
  return space ? space.space_used_size + space.space_available_size : Number.POSITIVE_INFINITY;
}
