/**
 * The image without a container engine: the steps of the Dockerfile are carried out in a root that contains only Node
 * and its libraries. Then it runs as in a container: read-only, as an unknown user, as process 1, with a volume for
 * the store. Needs the right to mount, which root in a container often has.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../http/servers.ts';

const CHECKOUT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-image-'));
const [root, packages, state] = ['root', 'packages', 'state'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];

/** A uid without a user in the image. */
const STRANGER = 65_532;
const NODE_USER = 1_000;

interface Instruction {
  readonly word: string;
  readonly text: string;
}

/** The instructions of the last stage and of the one before it; continued lines are joined. */
function readDockerfile(): [Instruction[], Instruction[]] {
  const joined = readFileSync(join(CHECKOUT, 'Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '');
  const stages = joined.split(/^FROM .*$/m).slice(1);
  const [first, last] = stages.map((stage) =>
    [...stage.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, word = '', text = '']) => ({ word, text })),
  );
  return [first!, last!];
}

const [firstStage, lastStage] = readDockerfile();
const textsOf = (word: string) => lastStage.filter((one) => one.word === word).map(({ text }) => text);
const listOf = (word: string): string[] => JSON.parse(textsOf(word).at(-1)!);

/** What `ENV` sets, without what Docker fills in. */
const environment = Object.fromEntries(
  textsOf('ENV').flatMap((text) =>
    [...text.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value!.replace('$REVISION', 'r1')]),
  ),
);

/** Copies from the checkout or the first stage as `COPY` does: several sources go into a folder. */
function copy(text: string): void {
  const options = new Map([...text.matchAll(/--(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]));
  const paths = text.replaceAll(/--\w+=\S+ /g, '').split(' ');
  const to = join(root, paths.pop()!);
  for (const path of paths) {
    const from = options.has('from') ? join(packages, path) : join(CHECKOUT, path);
    const isInto = to.endsWith('/') || paths.length > 1;
    cpSync(from, isInto ? join(to, path.split('/').at(-1)!) : to, { recursive: true });
  }
  if (options.get('chown') !== 'node:node') return;
  execFileSync('chown', ['-R', `${NODE_USER}:${NODE_USER}`, to]);
  if (options.has('chmod')) execFileSync('chmod', [options.get('chmod')!, to]);
}

/** Node and every library that it needs, in their usual places. */
function installNode(): void {
  const node = join(root, 'usr/local/bin/node');
  mkdirSync(dirname(node), { recursive: true });
  copyFileSync(process.execPath, node);
  for (const [library] of execFileSync('ldd', [node], { encoding: 'utf8' }).matchAll(/\/\S+/g)) {
    if (library === `${node}:`) continue;
    mkdirSync(dirname(join(root, library)), { recursive: true });
    copyFileSync(library, join(root, library));
  }
}

interface Running {
  readonly as: number;
  readonly isReadOnly: boolean;
}

/** Starts a command in the root, as process 1 of its own namespace. */
function start(command: readonly string[], { as, isReadOnly }: Running): ChildProcess {
  const [program, ...args] = command;
  expect(program).toBe('node');
  const script = `set -e
    mount --make-rprivate /
    mount --bind "$ROOT" "$ROOT"
    mount -t proc proc "$ROOT/proc"
    mount -t tmpfs tmpfs "$ROOT/tmp"
    chmod 1777 "$ROOT/tmp"
    mount --bind "$STATE" "$ROOT/var/lib/nestwatch"
    ${isReadOnly ? 'mount -o remount,bind,ro "$ROOT"' : ''}
    exec unshare --root="$ROOT" --wd="$WORKDIR" --setgid=${as} --setuid=${as} /usr/local/bin/node "$@"`;
  return spawn(
    'unshare',
    ['--mount', '--pid', '--fork', '--kill-child', '/bin/sh', '-c', script, 'sh', ...args],
    {
      env: {
        PATH: process.env.PATH,
        ...environment,
        ROOT: root,
        STATE: state,
        WORKDIR: textsOf('WORKDIR').at(-1),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
}

async function run(command: readonly string[], how: Running) {
  const child = start(command, how);
  const [out, err] = await Promise.all([child.stdout!.toArray(), child.stderr!.toArray()]);
  if (child.exitCode === null) await once(child, 'exit');
  return { exit: child.exitCode, output: Buffer.concat([...out, ...err]).toString() };
}

const mayMount = spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0;

describe.skipIf(!mayMount)('the image', () => {
  beforeAll(async () => {
    for (const path of ['proc', 'tmp', 'dev', 'etc/nestwatch', 'var/lib']) {
      mkdirSync(join(root, path), { recursive: true });
    }
    mkdirSync(packages);
    installNode();
    const workdir = join(packages, firstStage.find(({ word }) => word === 'WORKDIR')!.text);
    mkdirSync(workdir, { recursive: true });
    for (const { word, text } of firstStage) {
      const files = text.split(' ').slice(0, -1);
      if (word === 'COPY') {
        for (const file of files) cpSync(join(CHECKOUT, file), join(workdir, file), { recursive: true });
      }
      // The first stage's own root is this folder.
      const command = text.replaceAll(/ (\/state\S*)/g, ` ${packages}$1`);
      if (word === 'RUN') execFileSync('/bin/sh', ['-c', command], { cwd: workdir, stdio: 'pipe' });
    }
    for (const text of textsOf('COPY')) copy(text);
    cpSync(join(root, 'var/lib/nestwatch'), state, { recursive: true });
    execFileSync('chown', ['-R', `${NODE_USER}:${NODE_USER}`, state]);
  }, 240_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  test('contains the program with its libraries, their list and licences, and no test or tool', () => {
    expect(readdirSync(join(root, 'app')).toSorted()).toEqual(
      ['LICENSE', 'config', 'dist', 'package.json', 'sbom.cdx.json'].toSorted(),
    );
    const { components } = JSON.parse(readFileSync(join(root, 'app/sbom.cdx.json'), 'utf8'));
    const listed = components.map(({ name }: { name: string }) => name);
    const { dependencies } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'));
    expect(listed).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    const notices = readFileSync(join(root, 'app/dist/THIRD-PARTY-NOTICES.txt'), 'utf8');
    const noticed = [...notices.matchAll(/^(\S+) [\d.]+ \(\S+\)$/gm)].map(([, name]) => name);
    expect(noticed).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(noticed.filter((name) => !listed.includes(name))).toEqual([]);
    // One has it in its README, and one must be told of with its source.
    for (const words of [
      'Copyright (c) 2013-2016 Hannes Hörl',
      'Source: git+https://github.com/web-push-libs/',
    ])
      expect(notices).toContain(words);
  });

  test.each([
    ['its own user', NODE_USER],
    ['a user that it does not know', STRANGER],
  ])('runs with a read-only root, as %s, until it is told to stop', async (_who, as) => {
    const [service, page] = [await freePort(), await freePort()];
    rmSync(state, { recursive: true });
    mkdirSync(join(state, 'data'), { recursive: true });
    for (const path of [state, join(state, 'data')]) chownSync(path, as, as);
    writeFileSync(
      join(root, 'etc/nestwatch/nestwatch.yaml'),
      `regions: { eu: { base_url: "http://127.0.0.1:${service}/api-rest", token: demo } }
route: { receiver: "null" }
receivers: [{ name: "null" }]
web: { listen: "127.0.0.1:${page}" }
`,
    );
    const how = { as, isReadOnly: true };
    const entry = listOf('ENTRYPOINT');
    const simulator = start(
      [...entry, 'simulate', '--listen', `127.0.0.1:${service}`, '--token', 'demo', '--birds', '5'],
      how,
    );
    const daemon = start([...entry, ...listOf('CMD')], how);
    let log = '';
    daemon.stderr!.on('data', (text) => {
      log += text;
    });
    const ready = async () =>
      (await fetch(`http://127.0.0.1:${page}/-/ready`).catch(() => undefined))?.status;
    try {
      await expect.poll(ready, { timeout: 60_000 }).toBe(200);
      const check = /CMD (\[.*\])$/.exec(textsOf('HEALTHCHECK')[0]!)![1]!;
      expect(await run(JSON.parse(check), how)).toMatchObject({ exit: 0 });
      const writes =
        "try { fs.writeFileSync('/app/x', ''); } catch (e) { console.log(e.code, process.pid, process.getuid()); }";
      expect((await run(['node', '-e', writes], how)).output).toBe(`EROFS 1 ${as}\n`);
      expect(readdirSync(join(state, 'data'))).toContain('nestwatch.db');
    } finally {
      for (const child of [daemon, simulator]) {
        const [inner] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ');
        if (inner) process.kill(Number(inner), textsOf('STOPSIGNAL')[0]!);
        if (child.exitCode === null) await once(child, 'exit');
      }
    }
    expect([daemon.exitCode, simulator.exitCode], log).toEqual([0, 0]);
  });
});
