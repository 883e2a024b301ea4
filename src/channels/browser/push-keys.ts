import { generateKeyPairSync } from 'node:crypto';
import { secret } from '../../secret.ts';
import type { Browsers } from '../channel.ts';

/** A new pair of keys on the curve P-256, as one text: it is stored, and the same for all replicas ever after. */
export function newPushKeys(): string {
  const {
    x = '',
    y = '',
    d = '',
  } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    format: 'jwk',
  });
  // An uncompressed point (SEC 1, 2.3.3).
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  return `${point.toString('base64url')}.${d}`;
}

export function readPushKeys(stored: string): Browsers['keys'] {
  const [publicKey = '', privateKey = ''] = stored.split('.');
  return { publicKey, privateKey: secret(privateKey) };
}
