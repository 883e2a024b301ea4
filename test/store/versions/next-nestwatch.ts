/**
 * nestwatch as a later version, in a process of its own: `node next-nestwatch.ts next|endless|broken run CONFIG`, and `store
 * migrate`, by which its daemon changes a file.
 */
import { run } from '../../../src/cli/commands/run-command.ts';
import { storeMigrate } from '../../../src/cli/upkeep/store-command.ts';
import { holdSignals } from '../../../src/held-signals.ts';
import type { Edge } from '../../../src/process-io.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { BROKEN_STEPS, ENDLESS_STEPS, NEXT_STEPS } from './next-steps.ts';

const [version = '', command, ...args] = process.argv.slice(2);
const steps = { next: NEXT_STEPS, endless: ENDLESS_STEPS, broken: BROKEN_STEPS }[version];
const { onSignal, holdOnly } = holdSignals(process, () => performance.now());
const edge: Edge = {
  clock: systemClock(),
  random: Math.random,
  hostName: 'next',
  program: [process.execPath, process.argv[1]!, version],
  environment: {},
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  onSignal,
  holdOnly,
};
const options = {
  once: false,
  'log.level': 'info',
  'log.format': 'json',
  'config.autoReloadInterval': 0,
} as const;
try {
  if (command === 'run') process.exit(await run(edge, { ...options, configFile: args[0], steps: steps! }));
  await storeMigrate(edge, args.at(-1), { configFile: undefined }, steps);
  process.exit(0);
} catch (error) {
  process.stderr.write(`nestwatch: ${(error as Error).message}\n`);
  process.exit(1);
}
