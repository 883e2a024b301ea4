import type { Receiver } from '../channels/receiver.ts';
import { Check } from '../document/check.ts';
import { ConfigDocument } from '../document/document.ts';
import type { Environment } from '../document/expand.ts';
import { ConfigError, type Problem } from '../document/problem.ts';
import { whyUnreadable } from '../document/why-unreadable.ts';
import type { Config } from './config.ts';
import { rememberFile } from './effective.ts';
import { findReachWarnings } from './reach-warnings.ts';
import { readDigests } from './sections/digests-section.ts';
import { sectionsShape } from './sections/file-shape.ts';
import { readForward } from './sections/forward-section.ts';
import { readHeartbeat } from './sections/heartbeat-section.ts';
import { readInhibitRules } from './sections/inhibit-rules-section.ts';
import { readMetrics } from './sections/metrics-section.ts';
import { readPoll } from './sections/poll-section.ts';
import { readReceivers } from './sections/receivers-section.ts';
import { readRegions } from './sections/regions-section.ts';
import { readRoute } from './sections/route-section.ts';
import { readRules } from './sections/rules-section.ts';
import { readStore } from './sections/store-section.ts';
import { readTimeIntervals } from './sections/time-intervals-section.ts';
import { readWeb, type WebConfig } from './sections/web-section.ts';
import { findWarnings } from './warnings.ts';

interface ConfigSource {
  /** Named in every message; secret files are found from its folder. */
  readonly file: string;
  /** Its text, where it is at hand already. */
  readonly text?: string;
  readonly environment: Environment;
  /** Throws like `readFileSync`; it is called for secret files again whenever the secret is used. */
  readonly readFile: (path: string) => string;
}

/** Reads a whole configuration. Throws `ConfigError` with every mistake at once. */
export function loadConfig(source: ConfigSource): Config {
  const check = open(source);
  check.read(sectionsShape.prefault({}), []);
  const regions = readRegions(check);
  const poll = readPoll(check);
  const store = readStore(check, poll);
  const rules = readRules(check);
  const receivers = readReceivers(check);
  const route = readRoute(check);
  const inhibitRules = readInhibitRules(check);
  const timeIntervals = readTimeIntervals(check);
  const forward = readForward(check);
  const digests = readDigests(check);
  const heartbeat = readHeartbeat(check);
  const metrics = readMetrics(check);
  const web = readWeb(check);
  const problems = check.problems();
  if (problems.length > 0 || !poll || !store || !metrics || !web)
    throw new ConfigError(source.file, problems);
  const config: Config = {
    regions,
    store,
    poll,
    rules,
    route,
    receivers: withRoot(receivers, route.receiver),
    inhibitRules,
    timeIntervals,
    forward,
    digests,
    ...(heartbeat && { heartbeat }),
    metrics,
    web,
  };
  rememberFile(config, check.raw([]));
  return config;
}

/** What is right and yet hardly meant, in a configuration that `loadConfig` took. */
export function loadWarnings(source: ConfigSource, config: Config): readonly Problem[] {
  const check = open(source);
  findWarnings(check, config);
  findReachWarnings(check, config);
  return new ConfigError(source.file, check.problems()).problems;
}

/**
 * Reads only where the daemon listens, so that commands which ask it still work while the file is being edited.
 * Throws like `loadConfig`.
 */
export function loadWebConfig(source: ConfigSource): WebConfig {
  const check = open(source);
  const web = readWeb(check);
  const own = check.problems().filter(({ path }) => path === '' || /^web\b/.test(path));
  if (own.length > 0 || !web) throw new ConfigError(source.file, own);
  return web;
}

function open({ file, text, environment, readFile }: ConfigSource): Check {
  const document = new ConfigDocument(text ?? readWhole(file, readFile), environment);
  if (!document.isReadable) throw new ConfigError(file, document.problems);
  const { value } = document;
  if (value !== undefined && value !== null && (typeof value !== 'object' || Array.isArray(value))) {
    const place = document.placeOf([]);
    throw new ConfigError(file, [
      { ...place, path: '', message: 'the file must be a map that begins with `regions:`' },
    ]);
  }
  return new Check({ document, file, readFile, environment });
}

function readWhole(file: string, readFile: (path: string) => string): string {
  try {
    return readFile(file);
  } catch (error) {
    throw new ConfigError(file, [
      { line: 1, column: 1, path: '', message: `the file ${whyUnreadable(error)}` },
    ]);
  }
}

/** The receiver of the root of a file without `route` need not be configured: then it notifies nobody. */
function withRoot(receivers: readonly Receiver[], root: string): readonly Receiver[] {
  const isThere = receivers.some(({ name }) => name === root);
  return isThere ? receivers : [...receivers, { name: root, integrations: [] }];
}
