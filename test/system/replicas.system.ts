/** Every replica gives the same answer: what one of them is told, the others show within a second. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openScene, type Scene, until } from '../acceptance/replicas/scene.ts';

const execute = promisify(execFile);
const [A, B, C] = [0, 1, 2] as const;
/** By when the others must know. */
const WITHIN_MS = 1_000;
let scene: Scene;

beforeAll(async () => {
  scene = await openScene({ seed: 1, replicas: 3, regions: 2, birds: 3, interval: '5s', everyMs: 0 });
  await Promise.all([A, B, C].map((place) => scene.fleet.start(place)));
  for (const place of [A, B, C])
    await until(async () => (await scene.fleet.ask(place, '/-/ready'))?.status === 200, 60_000);
}, 240_000);
afterAll(() => scene.close());

const read = async (place: number, path: string) => (await scene.fleet.ask(place, path))?.text ?? '';
const json = async (place: number, path: string) => JSON.parse(await read(place, path));

async function amtool(place: number, ...args: string[]): Promise<string> {
  const { stdout } = await execute('amtool', [`--alertmanager.url=${scene.fleet.urlOf(place)}`, ...args]);
  return stdout;
}

interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly status: { readonly state: string; readonly silencedBy: readonly string[] };
}

async function stateAt(place: number): Promise<string | undefined> {
  const alerts: Alert[] = await json(place, '/api/v2/alerts');
  return alerts.find(({ labels }) => labels.alertname === 'FlightFailed')?.status.state;
}

/** How long it takes until it is true. */
async function after(isSo: () => Promise<boolean>): Promise<number> {
  const beganMs = performance.now();
  expect(await until(isSo, 10_000)).toBe(true);
  return performance.now() - beganMs;
}

test('an alert is the same at all of them', async () => {
  const world = scene.service.world('r00');
  const [bird] = [...world.birds.values()];
  world.endFlight(world.startFlight(bird!.id).id, 'failed', { errorMessages: 'The TMS refused the job' });
  for (const place of [A, B, C])
    expect(await until(async () => (await stateAt(place)) === 'active', 60_000)).toBe(true);
  const [one, two, three] = await Promise.all([A, B, C].map((place) => json(place, '/api/v2/alerts')));
  const known = (alerts: Alert[]) => alerts.map(({ labels }) => labels);
  expect([known(two), known(three)]).toEqual([known(one), known(one)]);
  for (const place of [A, B, C]) {
    expect(await amtool(place, 'alert', 'query', 'FlightFailed')).toContain('FlightFailed');
    expect(await read(place, '/alerts')).toContain('Bird 0');
  }
});

test('a silence created at one mutes the alert at another, and is on the page of the third, within a second', async () => {
  const id = (
    await amtool(
      A,
      'silence',
      'add',
      '--comment=the TMS is being mended',
      '--duration=1h',
      'alertname=FlightFailed',
    )
  ).trim();
  expect(await after(async () => (await stateAt(B)) === 'suppressed')).toBeLessThan(WITHIN_MS);
  expect(
    await after(async () => (await read(C, '/silences')).includes('the TMS is being mended')),
  ).toBeLessThan(WITHIN_MS);
  expect(await amtool(B, 'silence', 'query', '-q')).toContain(id);
  expect(await amtool(C, 'silence', 'query', '-q')).toContain(id);

  await amtool(C, 'silence', 'expire', id);
  expect(await after(async () => (await stateAt(A)) === 'active')).toBeLessThan(WITHIN_MS);
  expect(await after(async () => (await stateAt(B)) === 'active')).toBeLessThan(WITHIN_MS);
});

test('each names all of them', async () => {
  const named = await Promise.all(
    [A, B, C].map(async (place) => {
      const { replicas } = await json(place, '/api/v1/status');
      return replicas.length;
    }),
  );
  expect(named).toEqual([3, 3, 3]);
});
