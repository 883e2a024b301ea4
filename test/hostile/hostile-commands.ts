/**
 * The command line with hostile arguments, for commands that end by themselves, some of them against a running
 * daemon.
 */
import { PassThrough, Writable } from 'node:stream';
import { runCommandLine } from '../../src/cli/program.ts';
import type { Edge } from '../../src/process-io.ts';
import { pick } from '../../src/simulator/world/seeded-random.ts';
import type { Clock, Random } from '../../src/time/clock.ts';
import { hostileText } from './hostile-values.ts';

const OF_DAEMON = [
  ['alerts'],
  ['alerts', 'list', '-s', '-i'],
  ['alerts', 'list', '-r'],
  ['alerts', 'resolve'],
  ['silence', 'list'],
  ['silence', 'list', '--expired'],
  ['silence', 'add', 'region="nowhere"', '-c'],
  ['silence', 'add', 'region="nowhere"', '-c', 'x', '--window', '1h', '--cron'],
  ['silence', 'expire'],
  ['silence', 'acknowledge'],
  ['deliveries'],
  ['deliveries', '--receiver'],
  ['deliveries', '--limit'],
  ['deliveries', 'retry'],
  ['explain'],
  ['status'],
  ['healthcheck'],
] as const;
const BY_THEMSELVES = [
  ['routes', 'test'],
  ['check-config'],
  ['render'],
  ['render', '--template'],
  ['completion'],
  ['api'],
  ['api', 'searchBirds', '--nestId'],
  ['test-receiver', '--dry-run'],
  [],
  ['--log.level'],
  ['schema'],
] as const;

export function hostileArguments(random: Random, url: string): string[] {
  const isOfDaemon = random() < 0.6;
  const command = isOfDaemon ? pick(random, OF_DAEMON) : pick(random, BY_THEMSELVES);
  // Arguments of a process cannot contain NUL or half of a surrogate pair.
  const text = () => hostileText(random, 2000).replaceAll('\0', '').toWellFormed();
  const more = Array.from({ length: Math.floor(random() * 3) }, text);
  return [...command, ...(isOfDaemon ? ['--url', url] : []), ...(random() < 0.3 ? ['--json'] : []), ...more];
}

export interface CommandOutcome {
  readonly exit: number;
  readonly output: string;
}

export async function runHostile(clock: Clock, args: readonly string[]): Promise<CommandOutcome> {
  let output = '';
  const sink = () =>
    new Writable({
      write(chunk, _encoding, done) {
        output += String(chunk);
        done();
      },
    });
  const stdin = new PassThrough();
  stdin.end('');
  const edge: Edge = {
    clock,
    random: () => 0.5,
    hostName: 'test',
    program: [],
    environment: { USER: 'constructor' },
    stdin,
    stdout: sink(),
    stderr: sink(),
    onSignal: () => () => {},
    holdOnly: () => {},
  };
  const exit = await runCommandLine(edge, args);
  return { exit, output };
}
