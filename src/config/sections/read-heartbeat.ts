import { mistakeInUrl } from '../../http/web-address.ts';
import type { HeartbeatConfig } from '../config.ts';
import type { Check } from '../document/check.ts';
import { heartbeatShape } from './file-shape.ts';

export function readHeartbeat(check: Check): HeartbeatConfig | undefined {
  if (check.raw(['heartbeat']) === undefined) return undefined;
  const isMap = typeof check.raw(['heartbeat']) === 'object';
  const url = isMap ? check.secret(['heartbeat'], 'url', { isRequired: true, mistake: mistakeInUrl }) : null;
  const heartbeat = check.read(heartbeatShape, ['heartbeat']);
  return heartbeat && url ? { url, intervalMs: heartbeat.interval } : undefined;
}
