/**
 * Answers whether the daemon is healthy and ready: by status code for what supervises the process, and with reasons
 * as JSON.
 */
import type { Context, Hono } from 'hono';
import type { HealthAnswer } from '../health/health.ts';
import type { Store } from '../store/store.ts';
import type { Admission } from './access/admission.ts';
import { faultJson } from './api/alert-json.ts';
import { impairmentJson } from './api/health-json.ts';
import { kept } from './kept.ts';
import type { Health, WebOptions } from './web-options.ts';

/** The most faults listed. */
const SHOWN_FAULTS = 100;

/** The supervisor of the process requests these. They are answered even if many other requests are waiting. */
export const HEALTH_PATHS: ReadonlySet<string> = new Set(['/-/healthy', '/healthz', '/-/ready', '/readyz']);

const KEPT_MS = 1_000;

/** Each is read at most once a second, however many ask, so that nobody has to wait for other requests. */
export interface KeptHealth {
  readonly health: () => Promise<Health>;
  readonly impairments: () => Promise<HealthAnswer>;
  readonly setAside: () => Promise<SetAside>;
}

interface SetAside {
  readonly named: readonly object[];
  readonly counted: readonly object[];
}

/** `store` and `impairments` must not wait for requests. */
export function keepHealth({ health, impairments, store, clock, report }: WebOptions): KeptHealth {
  return {
    health: kept(clock, KEPT_MS, async () => health()),
    impairments: kept(clock, KEPT_MS, impairments),
    setAside: kept(clock, KEPT_MS, () =>
      readSetAside(store, clock.nowUs()).catch((error: unknown) => {
        // Faults are unknown while the store does not answer.
        report({ what: 'trouble', stage: 'store', error });
        return { named: [], counted: [] };
      }),
    ),
  };
}

function readSetAside(store: Store, nowUs: number): Promise<SetAside> {
  return store.transaction(async ({ faults }) => ({
    named: (await faults.list(nowUs, SHOWN_FAULTS)).map(faultJson),
    counted: await faults.count(nowUs),
  }));
}

/** Open to everybody, since a supervisor must not need a token. */
export function addHealth(app: Hono, kept: KeptHealth, admission: Admission): void {
  const code = (isGood: boolean) => (isGood ? 200 : 503);
  for (const path of ['/-/healthy', '/healthz']) {
    app.get(path, async (c) => {
      const { healthy, reasons } = await kept.health();
      return c.text(healthy ? 'Healthy.\n' : lines('Not healthy.', reasons), code(healthy));
    });
  }
  for (const path of ['/-/ready', '/readyz']) {
    app.get(path, async (c) => {
      const health = await kept.health();
      const { ready, reasons } = health;
      if (/\bapplication\/json\b/.test(c.req.header('accept') ?? '')) {
        return c.json({ ...health, ...(await details(c, kept, admission)) }, code(ready));
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
async function details(c: Context, kept: KeptHealth, admission: Admission) {
  const isOpen = await admission.mayRead(c);
  const { impairments } = await kept.impairments();
  const { named, counted } = await kept.setAside();
  return {
    impairments: isOpen
      ? impairments.map(impairmentJson)
      : [...new Set(impairments.map(({ reason }) => reason))],
    set_aside: isOpen ? named : counted,
  };
}

export const lines = (first: string, rest: readonly string[]) => `${[first, ...rest].join('\n')}\n`;
