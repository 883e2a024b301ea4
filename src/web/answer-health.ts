/**
 * Answers whether the daemon is healthy and ready: by status code for what supervises the process, and with reasons
 * as JSON.
 */
import type { Context, Hono } from 'hono';
import type { Admission } from './access/admission.ts';
import { faultJson } from './api/alert-json.ts';
import { impairmentJson } from './api/health-json.ts';
import type { WebOptions } from './web-options.ts';

/** The most faults listed. */
const SHOWN_FAULTS = 100;

/** The supervisor of the process requests these. They are answered even if many other requests are waiting. */
export const HEALTH_PATHS: ReadonlySet<string> = new Set(['/-/healthy', '/healthz', '/-/ready', '/readyz']);

/** Open to everybody, since a supervisor must not need a token. */
export function addHealth(app: Hono, options: WebOptions, admission: Admission): void {
  const { health } = options;
  const code = (isGood: boolean) => (isGood ? 200 : 503);
  for (const path of ['/-/healthy', '/healthz']) {
    app.get(path, (c) => {
      const { healthy, reasons } = health();
      return c.text(healthy ? 'Healthy.\n' : lines('Not healthy.', reasons), code(healthy));
    });
  }
  for (const path of ['/-/ready', '/readyz']) {
    app.get(path, async (c) => {
      const { ready, reasons } = health();
      if (/\bapplication\/json\b/.test(c.req.header('accept') ?? '')) {
        return c.json({ ...health(), ...(await details(c, options, admission)) }, code(ready));
      }
      return c.text(ready ? 'Ready.\n' : lines('Not ready.', reasons), code(ready));
    });
  }
}

/**
 * While the store is being opened, which may take long, a restart would not help: the process is healthy, and not ready.
 */
export function addOpeningHealth(app: Hono, opening: () => string): void {
  for (const path of ['/-/healthy', '/healthz']) app.get(path, (c) => c.text(lines('Healthy.', [opening()])));
  for (const path of ['/-/ready', '/readyz']) {
    app.get(path, (c) =>
      /\bapplication\/json\b/.test(c.req.header('accept') ?? '')
        ? c.json({ healthy: true, working: true, ready: false, reasons: [opening()] }, 503)
        : c.text(lines('Not ready.', [opening()]), 503),
    );
  }
}

/** What impairs the watch and what was set aside. Names are only included for those who may read. */
async function details(c: Context, { store, clock, impairments, report }: WebOptions, admission: Admission) {
  const isOpen = await admission.mayRead(c);
  const nowUs = clock.nowUs();
  const found = (await impairments()).impairments;
  const named = isOpen ? found.map(impairmentJson) : [...new Set(found.map(({ reason }) => reason))];
  try {
    const setAside = await store.transaction<object[]>(async ({ faults }) =>
      isOpen ? (await faults.list(nowUs, SHOWN_FAULTS)).map(faultJson) : faults.count(nowUs),
    );
    return { impairments: named, set_aside: setAside };
  } catch (error) {
    // Faults are unknown while the store does not answer.
    report({ what: 'trouble', stage: 'store', error });
    return { impairments: named, set_aside: [] };
  }
}

export const lines = (first: string, rest: readonly string[]) => `${[first, ...rest].join('\n')}\n`;
