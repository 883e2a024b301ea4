/**
 * Runs many worlds on all cores, or a single one to debug:
 *
 *   node test/simulation/simulate.ts --seeds 2000 [--from 1] [--hours 6 | --days 7] [--jobs 2] [--replicas]
 *   node test/simulation/simulate.ts --seed 17 [--hours 6 | --days 7] [--replicas] [--watch]
 *
 * With `--replicas`, several replicas on one store watch each world. With `--watch`, it prints which of them does
 * what, and the state of the regions. Exits with 1 if anything was found. For each failed world it prints the command
 * that repeats it.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { createDelays } from './delays.ts';
import { clockOf } from './finding.ts';
import { createPool } from './pool.ts';
import { type ReplicaOutcome, runReplicas } from './replicas/run-replicas.ts';
import { type Outcome, type RunOptions, runSeed } from './run.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    hours: { type: 'string', default: '6' },
    days: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    replicas: { type: 'boolean', default: false },
    watch: { type: 'boolean', default: false },
  },
});
const isShared = values.replicas;
const hours = values.days === undefined ? Number(values.hours) : Number(values.days) * 24;
const span = values.days === undefined ? `--hours ${values.hours}` : `--days ${values.days}`;
const options = isShared ? `${span} --replicas` : span;
/** The number of failed worlds that are printed in full. */
const MOST_SHOWN = 20;
/** How often progress is printed if it cannot be drawn. */
const PLAIN_PROGRESS_MS = 10_000;

const watch: NonNullable<RunOptions['watch']> = (happening, atUs) => {
  if (happening.what === 'duty' || happening.what === 'region_health') {
    console.log(clockOf(atUs), JSON.stringify(happening));
  }
};

process.exitCode = values.seed === undefined ? await many() : await one(Number(values.seed));

async function one(seed: number): Promise<number> {
  const startedMs = performance.now();
  const run = isShared ? runReplicas : runSeed;
  const outcome: Outcome = await run(seed, { hours, ...(values.watch && { watch }) });
  for (const { fault, check, what } of outcome.findings) console.log(`${fault}: ${check}: ${what}`);
  const delays = createDelays();
  delays.add(outcome.delaysMs);
  console.log(
    [
      `seed ${seed}: ${outcome.events} events in ${hours} hours and ${outcome.lives} lives`,
      `${outcome.requests} requests, ${outcome.unavoidable} unavoidable repeats`,
      `delay p50 ${seconds(delays.quantile(0.5))}, p99 ${seconds(delays.quantile(0.99))}`,
      `${whole(outcome.virtualMs / (performance.now() - startedMs))} times as fast as life, ${whole(outcome.virtualMs / processorMs())} on a whole core`,
      `accepted calls ${outcome.digest.slice(0, 16)}`,
      ...takeoverWords(takeoversOf(outcome)),
    ].join('\n'),
  );
  return outcome.findings.length === 0 ? 0 : 1;
}

async function many(): Promise<number> {
  const count = Number(values.seeds);
  const first = Number(values.from);
  const jobs = Math.min(count, Number(values.jobs));
  const pool = createPool(jobs);
  const delays = createDelays();
  const failed: Outcome[] = [];
  const takeoversMs: number[] = [];
  const said = new Map<string, number>();
  const noticed = new Map<string, number>();
  const sums = { done: 0, events: 0, requests: 0, lives: 0, unavoidable: 0, virtualMs: 0 };
  const startedMs = performance.now();
  let toldMs = startedMs;
  const speed = () => sums.virtualMs / (performance.now() - startedMs);

  function tell(): void {
    const leftMs = ((performance.now() - startedMs) / sums.done) * (count - sums.done);
    const bar = '█'.repeat(Math.floor((30 * sums.done) / count)).padEnd(30, '░');
    const seeds = failed.length > 0 ? ` (${failed[0]!.seed} first)` : '';
    const text = `${bar} ${sums.done}/${count} worlds, ${failed.length} failed${seeds}, ${whole(speed())} × life, ${whole(leftMs / 1000)} s left`;
    if (process.stderr.isTTY) process.stderr.write(`\r${text}  `);
    else if (performance.now() - toldMs > PLAIN_PROGRESS_MS) {
      toldMs = performance.now();
      process.stderr.write(`${text}\n`);
    }
  }

  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const outcome = await pool.run({ seed: first + index, hours, isShared });
      sums.done += 1;
      for (const key of ['events', 'requests', 'lives', 'unavoidable', 'virtualMs'] as const) {
        sums[key] += outcome[key];
      }
      addTo(said, outcome.said);
      addTo(noticed, outcome.noticed);
      delays.add(outcome.delaysMs);
      takeoversMs.push(...takeoversOf(outcome));
      if (outcome.findings.length > 0) {
        failed.push(outcome);
        process.stderr.write(`\nseed ${outcome.seed} failed\n`);
      }
      tell();
    }),
  );
  await pool.close();
  if (process.stderr.isTTY) process.stderr.write('\n');

  const findings = failed.flatMap((outcome) => outcome.findings);
  const found = (fault: string) => findings.filter((one) => one.fault === fault).length;
  console.log(`worlds       ${count} of ${whole(sums.virtualMs / count / 3_600_000)} virtual hours, ${sums.lives} lives
events       ${sums.events}
lost         ${found('lost')}
invented     ${found('invented')}
repeated     ${found('repeated')} (and ${sums.unavoidable} messages that were unavoidable, under the same id)
unexplained  ${found('unexplained')}
said         ${countsOf(said)}
inventory    ${countsOf(noticed)}
delay        p50 ${seconds(delays.quantile(0.5))}, p99 ${seconds(delays.quantile(0.99))}
requests     ${sums.requests}
speed        ${whole(speed())} times life on ${jobs} threads, ${whole(sums.virtualMs / processorMs())} on a whole core`);
  for (const line of takeoverWords(takeoversMs)) console.log(line);
  for (const { seed, findings: own } of failed.toSorted((a, b) => a.seed - b.seed).slice(0, MOST_SHOWN)) {
    const names = [...new Set(own.map(({ fault, check }) => `${fault} (${check})`))].join(', ');
    console.log(`\nseed ${seed}: ${names}\n  node test/simulation/simulate.ts --seed ${seed} ${options}`);
  }
  return failed.length === 0 ? 0 : 1;
}

function addTo(sums: Map<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, times] of Object.entries(counts)) sums.set(name, (sums.get(name) ?? 0) + times);
}

function countsOf(sums: ReadonlyMap<string, number>): string {
  const sorted = [...sums].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([name, times]) => `${name} ${times}`).join(', ') || 'nothing';
}

function takeoversOf(outcome: Outcome | ReplicaOutcome): readonly number[] {
  return 'takeoversMs' in outcome ? outcome.takeoversMs : [];
}

/** How long it took until another replica did what one no longer could; empty if nobody took over. */
function takeoverWords(all: readonly number[]): string[] {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (part: number) => seconds(sorted[Math.floor((sorted.length - 1) * part)]);
  if (sorted.length === 0) return [];
  return [`takeovers    ${sorted.length}, p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}`];
}

/** The processor time of all threads since the start of the process: on a busy machine, elapsed time says little. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function seconds(ms: number | undefined): string {
  return ms === undefined ? '-' : `${(ms / 1000).toFixed(1)} s`;
}
