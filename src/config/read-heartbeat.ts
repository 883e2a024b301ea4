import type { Check } from './check.ts';
import type { HeartbeatConfig } from './config.ts';
import { heartbeatShape } from './file-shape.ts';
import { mistakeInUrl } from './web-address.ts';

export function readHeartbeat(check: Check): HeartbeatConfig | undefined {
  if (check.raw(['heartbeat']) === undefined) return undefined;
  const heartbeat = check.read(heartbeatShape, ['heartbeat']);
  if (!heartbeat) return undefined;
  const url = check.secret(['heartbeat'], 'url', { isRequired: true, mistake: mistakeInUrl });
  return url ? { url, intervalMs: heartbeat.interval } : undefined;
}
