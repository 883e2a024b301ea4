import type { Receiver } from '../channels/receiver.ts';
import { ConfigError, type Problem } from '../document/problem.ts';
import type { Config } from './config.ts';
import { type ConfigSource, openSource } from './config-source.ts';
import { rememberFile } from './effective.ts';
import { readActions } from './sections/actions-section.ts';
import { readContext } from './sections/context-section.ts';
import { readDigests } from './sections/digests-section.ts';
import { sectionsShape } from './sections/file-shape.ts';
import { readForward } from './sections/forward-section.ts';
import { readHeartbeat } from './sections/heartbeat-section.ts';
import { readInhibitRules } from './sections/inhibit-rules-section.ts';
import { readMetrics } from './sections/metrics-section.ts';
import { readObjectives } from './sections/objectives-section.ts';
import { readPoll } from './sections/poll-section.ts';
import { readReceivers } from './sections/receivers-section.ts';
import { readRegions } from './sections/regions-section.ts';
import { readRoute } from './sections/route-section.ts';
import { readRules } from './sections/rules-section.ts';
import { readStore } from './sections/store-section.ts';
import { readTimeIntervals } from './sections/time-intervals-section.ts';
import { readWeb } from './sections/web-section.ts';
import { findReachWarnings, findWarnings } from './warnings.ts';

/** Reads a whole configuration. Throws `ConfigError` with all mistakes at once, or the first hundred. */
export function loadConfig(source: ConfigSource): Config {
  const check = openSource(source);
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
  const objectives = readObjectives(check, store?.retentionMs);
  const actions = readActions(check, regions);
  const context = readContext(check);
  const heartbeat = readHeartbeat(check);
  const metrics = readMetrics(check);
  const web = readWeb(check);
  const problems = check.problems();
  if (problems.length > 0 || !poll || !store || !context || !metrics || !web)
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
    ...(objectives.length > 0 && { objectives }),
    ...(actions.length > 0 && { actions }),
    context,
    ...(heartbeat && { heartbeat }),
    metrics,
    web,
  };
  rememberFile(config, check.raw([]));
  return config;
}

/** What is valid but probably not intended, in a configuration that `loadConfig` accepted. */
export function loadWarnings(source: ConfigSource, config: Config): readonly Problem[] {
  const check = openSource(source);
  try {
    findWarnings(check, config);
    findReachWarnings(check, config);
    return new ConfigError(source.file, check.problems()).problems;
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** In a file without `route`, the root's receiver need not be configured: then it notifies nobody. */
function withRoot(receivers: readonly Receiver[], root: string): readonly Receiver[] {
  const isThere = receivers.some(({ name }) => name === root);
  return isThere ? receivers : [...receivers, { name: root, integrations: [] }];
}
