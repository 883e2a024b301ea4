/**
 * Reads the configuration again while the daemon runs. The new configuration is validated completely before anything
 * uses it, so one with a mistake changes nothing. Settings that are fixed at the start keep their values and are
 * reported.
 */
import type { Config } from './config/config.ts';
import { fileOf, rememberFile } from './config/effective.ts';
import { isSameSetting } from './config/same-setting.ts';
import { ConfigError, formatProblem } from './document/problem.ts';
import type { Report } from './report.ts';
import type { Clock } from './time/clock.ts';

interface ReloadingOptions {
  /** The configuration in force when the process starts. */
  readonly config: Config;
  /** Throws `ConfigError` with every mistake. */
  readonly read: () => Config | Promise<Config>;
  /** Puts it in force. If it rejects, the previous configuration stays in force. */
  readonly apply: (config: Config) => Promise<void>;
  readonly clock: Clock;
  readonly report: Report;
}

/** The outcome of a reload. */
export interface ReloadOutcome {
  /** Why the configuration was refused; empty if it is in force. */
  readonly mistakes: readonly string[];
  /** Keys whose new values take effect only after a restart. */
  readonly needsRestart: readonly string[];
}

interface ReloadView extends ReloadOutcome {
  /** When the configuration in force was read. */
  readonly readAtUs: number;
  /** When the last reload was tried; 0 for never. */
  readonly triedAtUs: number;
}

interface Reloading {
  /** Resolves when the new configuration is in force or refused. It never rejects. */
  reload(): Promise<ReloadOutcome>;
  view(): ReloadView;
}

/** The most mistakes that are kept; `check-config` shows more. */
const MOST_MISTAKES = 50;

export function createReloading({ config, read, apply, clock, report }: ReloadingOptions): Reloading {
  let inForce = config;
  let view: ReloadView = { readAtUs: clock.nowUs(), triedAtUs: 0, mistakes: [], needsRestart: [] };
  let ended: Promise<unknown> = Promise.resolve();
  let next: Promise<ReloadOutcome> | undefined;

  async function reload(): Promise<ReloadOutcome> {
    const atUs = clock.nowUs();
    try {
      const { fitting, needsRestart } = fitted(await read(), inForce);
      await apply(fitting);
      inForce = fitting;
      view = { readAtUs: atUs, triedAtUs: atUs, mistakes: [], needsRestart };
    } catch (error) {
      view = { ...view, triedAtUs: atUs, mistakes: mistakesOf(error).slice(0, MOST_MISTAKES) };
    }
    const { mistakes, needsRestart } = view;
    report({ what: 'config_reload', success: mistakes.length === 0, atUs, mistakes, needsRestart });
    return { mistakes, needsRestart };
  }

  return {
    reload() {
      // A waiting reload serves all callers, because it reads the file after they asked.
      next ??= ended.then(() => {
        next = undefined;
        return reload();
      });
      ended = next;
      return next;
    },
    view: () => view,
  };
}

/** The new configuration, with the values in force of everything that cannot change while the process runs. */
function fitted(next: Config, inForce: Config): { fitting: Config; needsRestart: string[] } {
  const { store, web, metrics } = inForce;
  const isEncryptedElse = (next.web.tls === undefined) !== (web.tls === undefined);
  const isWebElsewhere = next.web.host !== web.host || next.web.port !== web.port || isEncryptedElse;
  const fitting: Config = {
    ...next,
    store: { ...store, retentionMs: next.store.retentionMs },
    // The other keys may only suit the new address.
    web: isWebElsewhere ? web : next.web,
    metrics,
  };
  const [file, kept] = [fileOf(next), fileOf(inForce)];
  if (file && kept) {
    const { retention } = { retention: undefined, ...file.store };
    rememberFile(fitting, {
      ...file,
      store: { ...kept.store, retention },
      web: isWebElsewhere ? kept.web : file.web,
      metrics: kept.metrics,
    });
  }
  return {
    fitting,
    needsRestart: [
      ...changedKeys(next.store, store),
      ...(isWebElsewhere ? ['web'] : []),
      ...(isSameSetting(next.metrics, metrics) ? [] : ['metrics']),
    ],
  };
}

/** The changed keys of the store that are only read when it is opened. */
function changedKeys(next: Config['store'], store: Config['store']): string[] {
  if (next.url !== store.url) return ['store.url'];
  const [after, before] = [next.postgres, store.postgres];
  return [
    ...(after?.schema === before?.schema ? [] : ['store.schema']),
    ...(after?.statementTimeoutMs === before?.statementTimeoutMs ? [] : ['store.statement_timeout']),
    ...(isSameSetting(after?.password, before?.password) ? [] : ['store.password']),
  ];
}

function mistakesOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems.map((one) => formatProblem(error.file, one));
  return [error instanceof Error ? error.message : String(error)];
}
