import { request } from 'node:http';
import { onTestFinished } from 'vitest';
import { createServiceLinks } from '../../src/config/sections/regions-section.ts';
import { createAcknowledgeLinks } from '../../src/operator/acknowledge-link.ts';
import type { Happening } from '../../src/report.ts';
import { secret } from '../../src/secret.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { createOidc } from '../../src/web/access/oidc.ts';
import { openWeb } from '../../src/web/server.ts';
import type { WebOptions } from '../../src/web/web-options.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { anAlertingConfig, aStatus } from './sample.ts';

/** `Body` is the expected type of a JSON answer. */
export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly json: Body;
}

export interface ServeOptions extends Partial<WebOptions> {
  readonly web?: Partial<WebOptions['config']>;
}

/** `web` of the configuration, as these tests have it. */
export const WEB_CONFIG: WebOptions['config'] = {
  host: '127.0.0.1',
  port: 0,
  externalUrl: 'http://watch.example.com/nestwatch',
  bearerToken: null,
  enableLifecycle: false,
};

/**
 * The real server on a free port with a store in memory; both are closed when the test ends. `web` changes `WEB_CONFIG`.
 */
export async function serve({ web: change, ...options }: ServeOptions = {}) {
  const clock = createVirtualClock();
  const store = await openSqliteStore({ path: ':memory:', clock });
  const reported: Happening[] = [];
  /** When the stages were woken up. */
  const changes: number[] = [];
  /** The regions for which an immediate request was asked for. */
  const probes: string[] = [];
  let ids = 0;
  const used: WebOptions = {
    openFiles: 1024,
    config: { ...WEB_CONFIG, ...change },
    alerting: anAlertingConfig(),
    store,
    status: () => aStatus(),
    metrics: async () => ({ contentType: 'text/plain; version=0.0.4', body: 'nestwatch_up 1\n' }),
    health: () => ({ healthy: true, working: true, ready: true, reasons: [] }),
    impairments: async () => ({
      impairments: [],
      space: { used: 1_000_000, free: 2_000_000, whole: 3_000_000 },
    }),
    browsers: { publicKey: '', receivers: new Map() },
    links: createAcknowledgeLinks(secret('a key'), 'http://watch.example.com/nestwatch'),
    flightLog: async () => ({
      steps: [
        {
          atUs: clock.nowUs(),
          sort: 'error',
          level: '',
          step: 'translate',
          scope: '',
          message: 'Quota\u001b',
          wentOn: null,
        },
      ],
      more: 2,
    }),
    serviceLinks: createServiceLinks([]),
    newId: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`,
    changed: () => changes.push(clock.nowUs()),
    probe: (region) => probes.push(region),
    reload: async () => ({ mistakes: [], needsRestart: [] }),
    messages: {
      nameOf: ({ integration }) => integration,
      messageOf: async () => undefined,
      testsOf: () => [],
    },
    clock,
    report: (one) => reported.push(one),
    ...options,
  };
  const { externalUrl, access } = used.config;
  const login = { key: secret('a key'), ended: new Set(), clock, report: used.report };
  const oidc = access?.oidc && createOidc(access.oidc, externalUrl, login);
  const shown = { ...used, oidc };
  const web = await openWeb(shown);
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    await web.close();
    await store.close();
  };
  onTestFinished(close);

  /** A request with exactly these headers; `fetch` would not let a test set its own host. */
  function ask<Body>(
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
    sent?: string,
  ): Promise<Answer<Body>> {
    return new Promise((resolve, reject) => {
      const outgoing = request(new URL(path, web.url), { method, headers }, async (incoming) => {
        let body = '';
        // This answer never ends.
        if (incoming.headers['content-type'] === 'text/event-stream') incoming.destroy();
        else for await (const chunk of incoming.setEncoding('utf8')) body += chunk;
        const isJson = String(incoming.headers['content-type']).includes('json');
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          body,
          json: (isJson && body ? JSON.parse(body) : undefined) as Body,
        });
      });
      outgoing.on('error', reject);
      outgoing.end(sent);
    });
  }

  const post = <Body>(path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask<Body>(path, { 'content-type': 'application/json', ...headers }, 'POST', JSON.stringify(body));
  /** As the form of a page sends it. */
  const submit = (
    path: string,
    fields: Record<string, string> | string[][],
    headers: Record<string, string> = {},
  ) =>
    ask(
      path,
      { 'content-type': 'application/x-www-form-urlencoded', origin: web.url, ...headers },
      'POST',
      new URLSearchParams(fields).toString(),
    );
  return { ask, post, submit, web, store, clock, reported, changes, probes, close, options: shown };
}
