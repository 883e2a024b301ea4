import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { httpShape, readHttp } from '../../document/http-config.ts';
import { duration, twins } from '../../document/value-shape.ts';
import type { HttpSettings } from '../../http/http-settings.ts';
import { mistakeInUrl } from '../../http/web-address.ts';
import type { Secret } from '../../secret.ts';

export const heartbeatShape = z.strictObject({
  ...twins('url', 'Called with GET, unless something gravely impairs the watch. Required.'),
  interval: duration(1000).prefault('1m').describe('How often it is called.'),
  http_config: httpShape.optional(),
});

/** A heartbeat to an outside watchdog, which alerts people when the heartbeat stops. */
export interface HeartbeatConfig {
  /** Secret, because anyone who knows it can keep the watchdog quiet. */
  readonly url: Secret;
  readonly intervalMs: number;
  readonly http?: HttpSettings;
}

export function readHeartbeat(check: Check): HeartbeatConfig | undefined {
  if (check.raw(['heartbeat']) === undefined) return undefined;
  const isMap = typeof check.raw(['heartbeat']) === 'object';
  const url = isMap ? check.secret(['heartbeat'], 'url', { isRequired: true, mistake: mistakeInUrl }) : null;
  const http = readHttp(check, ['heartbeat', 'http_config']);
  const heartbeat = check.read(heartbeatShape, ['heartbeat']);
  return heartbeat && url ? { url, intervalMs: heartbeat.interval, ...(http && { http }) } : undefined;
}
