import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { configJsonSchema } from '../../src/config/effective.ts';
import { tempFolder } from '../http/servers.ts';
import { MAIN } from '../program.ts';
import { matching, nestwatch, refused } from './test-io.ts';

interface Options {
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

function start(
  args: readonly string[],
  { cwd = tempFolder(), environment = {} }: Options = {},
): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], { cwd, env: { PATH: process.env.PATH, ...environment } });
}

async function run(args: readonly string[], options?: Options) {
  const child = start(args, options);
  const [stdout, stderr, [exit]] = await Promise.all([
    textOf(child.stdout!),
    textOf(child.stderr!),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { exit, stdout, stderr };
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

/** Reads up to the line that contains a text; rejects if there is none. */
function readLines(stream: NodeJS.ReadableStream) {
  const lines = createInterface({ input: stream })[Symbol.asyncIterator]();
  return {
    async until(text: string): Promise<void> {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`no line holds ${text}`);
        if (value.includes(text)) return;
      }
    },
  };
}

const QUIET = `regions: { eu: { base_url: "http://127.0.0.1:1", token: t } }
store: { url: "sqlite::memory:" }
web: { listen: 127.0.0.1:0 }
`;

/**
 * A command that waits while it reads its configuration. `configure` lets it continue; from then on the file is an
 * ordinary one.
 */
async function startBeforeConfig(args: readonly string[]) {
  const cwd = tempFolder();
  const file = join(cwd, 'nestwatch.yaml');
  execFileSync('mkfifo', [file]);
  const child = start([...args, '--config.file', file], { cwd });
  // Resolves once the command opens it as well.
  const pipe = await open(file, 'w');
  onTestFinished(() => pipe.close());
  return {
    child,
    async configure() {
      writeFileSync(join(cwd, 'ordinary'), QUIET);
      renameSync(join(cwd, 'ordinary'), file);
      await pipe.writeFile(QUIET);
      await pipe.close();
    },
  };
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

describe('the process', () => {
  const codes = [
    [
      ['--version'],
      0,
      /^nestwatch \d+\.\d+\.\d+ \((?:revision [0-9a-f]{40}, )?Node v\d+.*\)\ntables of version \d+: .+\n$/,
    ],
    [['rum'], 2, /^$/],
    [['healthcheck', '--url', 'http://127.0.0.1:1'], 1, /^$/],
  ] as const;
  // The tests below cover 0 and 2.
  test.each(codes)('ends with the exit code of its command: %j %i [long]', async (args, exit, stdout) => {
    const ended = await run(args);
    expect(ended).toMatchObject({ exit, stdout: expect.stringMatching(stdout) });
    expect(ended.stderr === '').toBe(exit === 0);
  });

  test('says that its output cannot be written [long]', async () => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const child = spawn(process.execPath, [MAIN, 'schema'], { stdio: ['ignore', full, 'pipe'] });
    const [stderr, [exit]] = await Promise.all([textOf(child.stderr!), once(child, 'exit')]);
    expect([exit, stderr]).toEqual([1, 'nestwatch: the output cannot be written (ENOSPC)\n']);
  });

  test('knows who runs it where USER is not set [long]', async () => {
    const { exit, stderr } = await run(['birds', 'fly', '1', '--yes', '--url', 'http://127.0.0.1:1']);
    expect([exit, stderr]).toEqual([1, expect.stringContaining('no answer from')]);
  });

  test('writes a long answer into a pipe completely [long]', async () => {
    const { exit, stdout } = await run(['schema']);
    expect([exit, JSON.parse(stdout)]).toEqual([0, configJsonSchema()]);
  });

  test('a reader that stops early is no failure [long]', async () => {
    const child = start(['schema']);
    child.stdout!.destroy();
    const [[exit], stderr] = await Promise.all([once(child, 'exit'), textOf(child.stderr!)]);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  });

  test('a daemon whose output nobody reads any more still ends when asked to [long]', async () => {
    const cwd = tempFolder();
    writeFileSync(join(cwd, 'nestwatch.yaml'), QUIET);
    const child = start(['run'], { cwd });
    onTestFinished(() => void child.kill('SIGKILL'));
    let page = '';
    await new Promise<void>((resolve) => {
      child.stderr!.on('data', (chunk: Buffer) => {
        page = /"page":"([^"]+)"/.exec(String(chunk))?.[1] ?? page;
        if (page === '') return;
        child.stderr!.removeAllListeners('data');
        child.stderr!.pause();
        resolve();
      });
    });
    // More than the pipe holds: each is a line of 2 KB in the log, and is read before the next is sent.
    for (let line = 0; line < 150; line += 1) {
      const body = JSON.stringify({ comment: 'x'.repeat(4_000) });
      const headers = { 'content-type': 'application/json', origin: page };
      await fetch(`${page}/api/v2/silences`, { method: 'POST', body, headers });
    }
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect((await exited)[0]).toBe(0);
  });

  test('a daemon keeps running if nobody reads its log any more [long]', async () => {
    const cwd = tempFolder();
    writeFileSync(join(cwd, 'nestwatch.yaml'), QUIET);
    const child = start(['run'], { cwd });
    onTestFinished(() => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    let page = '';
    for await (const line of createInterface({ input: child.stderr! })) {
      page = (JSON.parse(line) as { page?: string }).page ?? '';
      if (page !== '') break;
    }
    child.stderr!.destroy();
    // Each causes a line in the log.
    for (let line = 0; line < 3; line += 1) {
      child.kill('SIGUSR2');
      const ended = exited.then(() => 'ended');
      expect(await Promise.race([fetch(`${page}/-/healthy`).then(({ status }) => status), ended])).toBe(200);
    }
    child.kill('SIGTERM');
    expect((await exited)[0]).toBe(0);
  });

  const onFullDisk = existsSync('/dev/full') ? test : test.skip;
  onFullDisk('and if the disk has no room for it [long]', async () => {
    const cwd = tempFolder();
    writeFileSync(join(cwd, 'nestwatch.yaml'), QUIET);
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const child = spawn(process.execPath, [MAIN, 'run', '--once'], {
      cwd,
      stdio: ['ignore', 'ignore', full],
    });
    // It read what it could, which is nothing in a region that does not answer.
    expect((await once(child, 'exit'))[0]).toBe(4);
  });

  test('init writes a valid configuration once, and never over an existing file [long]', async () => {
    const cwd = tempFolder();
    const environment = { NESTWATCH_EU_TOKEN: 'a', NESTWATCH_US_TOKEN: 'b' };
    expect(await run(['init'], { cwd })).toMatchObject({ exit: 0, stdout: '' });
    const written = readFileSync(join(cwd, 'nestwatch.yaml'), 'utf8');
    expect((await nestwatch(['init', '--stdout'])).stdout).toBe(written);
    const checked = await run(['check-config'], { cwd, environment });
    expect(checked.exit).toBe(0);
    expect(checked.stdout.split('\n')).toEqual([
      './nestwatch.yaml: good: regions eu, us; receivers none (alerts are seen only on the page)',
      expect.stringMatching(/: route: warning: nobody is notified of alerts/),
      '',
    ]);
    const file = join(cwd, 'whole.yaml');
    writeFileSync(file, written.replaceAll(/^#(?: (?=(?:global|route|receivers|rules):)|(?= {3}))/gm, ''));
    const filled = await nestwatch(['check-config', file], { environment });
    expect(filled.exit).toBe(0);
    expect(filled.stdout.split('\n')).toEqual([
      `${file}: good: regions eu, us; receivers ops, pager`,
      expect.stringMatching(/: web.external_url: warning: is not set, so messages contain no links/),
      '',
    ]);
    expect(await run(['init'], { cwd })).toEqual(
      refused(
        'nestwatch: nestwatch.yaml exists already and stays as it is; --stdout prints a new one\nSee `nestwatch init --help`.\n',
      ),
    );
    expect(readFileSync(join(cwd, 'nestwatch.yaml'), 'utf8')).toBe(written);
  });

  test('without a configuration it says where it looked [long]', async () => {
    expect(await run(['check-config'])).toEqual(
      refused(
        matching(
          /^nestwatch: no configuration: give --config\.file FILE or \$NESTWATCH_CONFIG .*`nestwatch init`/,
        ),
      ),
    );
  });

  test('reloads its configuration at SIGHUP and when the file changes; SIGTERM ends it [long]', async () => {
    const cwd = tempFolder();
    const file = join(cwd, 'nestwatch.yaml');
    const configured = (more: string) => `${QUIET}${more}
`;
    writeFileSync(file, configured(''));
    const child = start(['run', '--config.auto-reload-interval', '1s'], { cwd });
    const log = readLines(child.stderr!);
    await log.until('nestwatch has started');
    child.kill('SIGHUP');
    await log.until('The configuration was read');
    writeFileSync(file, configured('receiver: []'));
    await log.until('nestwatch.yaml:4:1: receiver: ');
    // As Kubernetes replaces a mounted configuration: by changing a link.
    writeFileSync(join(cwd, 'next.yaml'), configured('poll: { interval: 1m }'));
    symlinkSync(join(cwd, 'next.yaml'), join(cwd, 'link'));
    renameSync(join(cwd, 'link'), file);
    await log.until('The configuration was read');
    child.kill('SIGTERM');
    await log.until('nestwatch has stopped');
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0);
  });

  test('SIGTERM ends it although a file does not answer [long]', async () => {
    const cwd = tempFolder();
    writeFileSync(join(cwd, 'nestwatch.yaml'), QUIET);
    // Opening a pipe that nobody writes to takes a thread as a hung mount does.
    execFileSync('mkfifo', [join(cwd, 'pipe')]);
    writeFileSync(join(cwd, 'hung.mjs'), `void (await import('node:fs/promises')).open('pipe');`);
    const child = start(['run'], { cwd, environment: { NODE_OPTIONS: '--import ./hung.mjs' } });
    onTestFinished(() => void child.kill('SIGKILL'));
    const log = readLines(child.stderr!);
    await log.until('nestwatch has started');
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await log.until('nestwatch has stopped');
    expect(await exited).toEqual([null, 'SIGTERM']);
  });

  // SIGTERM below and `held-signals.test.ts` show that signals are held meanwhile.
  test('SIGHUP and SIGUSR2 before it has started are handled afterwards [long]', async () => {
    const { child, configure } = await startBeforeConfig(['run']);
    child.kill('SIGHUP');
    child.kill('SIGUSR2');
    await configure();
    let log = '';
    for await (const line of createInterface({ input: child.stderr! })) {
      log += line;
      if (/The configuration was read/.test(log) && /The level of the log has changed/.test(log)) break;
    }
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test.each(SIGNALS)('%s before it has started ends it in order [long]', async (signal) => {
    const { child, configure } = await startBeforeConfig(['run']);
    child.kill(signal);
    await configure();
    const log = readLines(child.stderr!);
    await log.until('nestwatch is stopping');
    await log.until('nestwatch has stopped');
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0);
  });

  test('a command without an output to finish ends at a signal at once [long]', async () => {
    const { child } = await startBeforeConfig(['backfill', '--from', '2026-01-01T00:00:00Z']);
    child.kill('SIGHUP');
    expect(await once(child, 'exit')).toEqual([null, 'SIGHUP']);
  });

  test.each(SIGNALS)('%s ends simulate with exit 0 [long]', async (signal) => {
    const child = start(['simulate', '--listen', '127.0.0.1:0', '--birds', '2']);
    await once(child.stdout!, 'data');
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
