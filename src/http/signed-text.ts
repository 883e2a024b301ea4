/** Texts that only nestwatch can have written, such as a link, a button or a cookie. What they hold is no secret. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../secret.ts';

/** Of the 32 bytes of an HMAC-SHA256: 128 bits cannot be guessed, and a link stays short. */
const SIGNATURE_BYTES = 16;

/** `content` as JSON, in base64url, with a signature that counts for this purpose only. */
export function signedText(key: Secret, purpose: string, content: unknown): string {
  const text = JSON.stringify(content);
  return [Buffer.from(text), signatureOf(key, purpose, text)]
    .map((one) => one.toString('base64url'))
    .join('.');
}

/** What such a text holds; undefined if it was not signed with this key for this purpose. */
export function readSignedText<Content>(key: Secret, purpose: string, signed: string): Content | undefined {
  const [body = '', signature = ''] = signed.split('.');
  const text = Buffer.from(body, 'base64url').toString();
  const given = Buffer.from(signature, 'base64url');
  const isOurs = given.length === SIGNATURE_BYTES && timingSafeEqual(given, signatureOf(key, purpose, text));
  return isOurs ? JSON.parse(text) : undefined;
}

function signatureOf(key: Secret, purpose: string, text: string): Buffer {
  return createHmac('sha256', key.reveal())
    .update(`${purpose} ${text}`)
    .digest()
    .subarray(0, SIGNATURE_BYTES);
}
