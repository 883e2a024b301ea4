/** Whether the daemon is healthy and ready: for whoever restarts the process, and with reasons as JSON. */
import type { Context, Hono } from 'hono';
import type { Admission } from './access/admission.ts';
import { faultJson } from './api/alert-json.ts';
import { impairmentJson } from './api/health-json.ts';
import type { WebOptions } from './web-options.ts';

/** Faults that are listed at the most. */
const SHOWN_FAULTS = 100;

/** Whoever restarts the process asks here, whatever else is asked. */
export const HEALTH_PATHS: ReadonlySet<string> = new Set(['/-/healthy', '/healthz', '/-/ready', '/readyz']);

/** Open to everybody: whoever restarts the process must not need a token for it. */
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

/** What impairs the watch and what was set aside; with names only for who may read. */
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
    // Nothing is known of faults while the store does not answer.
    report({ what: 'trouble', stage: 'store', error });
    return { impairments: named, set_aside: [] };
  }
}

export const lines = (first: string, rest: readonly string[]) => `${[first, ...rest].join('\n')}\n`;
