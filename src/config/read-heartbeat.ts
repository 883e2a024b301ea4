import type { Check } from './check.ts';
import type { HeartbeatConfig } from './config.ts';
import { heartbeatShape } from './file-shape.ts';
import { mistakeInUrl } from './web-address.ts';

export function readHeartbeat(check: Check): HeartbeatConfig | undefined {
  if (check.raw(['heartbeat']) === undefined) return undefined;
  const isMap = typeof check.raw(['heartbeat']) === 'object';
  const url = isMap ? check.secret(['heartbeat'], 'url', { isRequired: true, mistake: mistakeInUrl }) : null;
  const heartbeat = check.read(heartbeatShape, ['heartbeat']);
  return heartbeat && url ? { url, intervalMs: heartbeat.interval } : undefined;
}
